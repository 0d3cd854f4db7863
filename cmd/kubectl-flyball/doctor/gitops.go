package doctor

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// The kinds of GitOps tools that apply objects.
var (
	applicationKind   = schema.GroupKind{Group: "argoproj.io", Kind: "Application"}
	kustomizationKind = schema.GroupKind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}
	helmReleaseKind   = schema.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}
)

// ApplierKinds are the kinds of objects with the fields that a GitOps tool applies.
var ApplierKinds = []schema.GroupKind{applicationKind, kustomizationKind, helmReleaseKind}

// GitOps holds the objects of GitOps tools. Appliers are the objects of ApplierKinds. Settings are the settings of Argo CD
// by the namespace of Applications. Why is the reason why the objects are not known.
type GitOps struct {
	Appliers [][]byte
	Settings map[string]Settings
	Why      string
}

// lookahead is the length of the simulation of Flyball's writes. A target that policies change in an ordinary week
// changes at least once in this time.
const lookahead = 8 * 24 * time.Hour

// applied is an object that a GitOps tool applies.
type applied struct {
	ref  workload.Ref
	root rawjson.Value
	// by is the object of the GitOps tool. If it is an Application, its namespace may be unknown.
	by workload.Ref
}

// gitops reports targets whose fields are applied again and again by a GitOps tool although Flyball is going to change
// them. A tool that Flyball itself stops in that time is no conflict.
func (c *Checkup) gitops(memory *world.Memory, tools GitOps, now time.Time) error {
	n := newNights(memory, tools)
	at := now
	for write, err := range decide.Writes(n.sandbox, now, now.Add(lookahead)) {
		if err != nil {
			return fmt.Errorf("foresee the writes to applied objects: %w", err)
		}
		if !write.At.Equal(at) {
			n.judgeDue()
			at = write.At
		}
		n.wrote(&write)
	}
	n.judgeDue()
	c.addConflicts(slices.SortedFunc(maps.Values(n.conflicts), (*conflict).compare), tools.Why)
	return nil
}

// addConflicts adds the check with its conflicts. An uncertain conflict does not make the check a problem.
func (c *Checkup) addConflicts(all []*conflict, why string) {
	check := Check{Name: "gitops", Outcome: OK}
	for _, one := range all {
		check.Details = append(check.Details, one.text(why))
		switch {
		case !one.unknown && one.unsure == "":
			check.Outcome = Problem
		case check.Outcome == OK:
			check.Outcome = NotChecked
		}
	}
	if check.Outcome == OK {
		check.Details = []string{"no GitOps tool applies a field that a policy is going to change"}
	}
	c.Checks = append(c.Checks, check)
}

// applierOf returns the object of the GitOps tool that applies an object. It ignores marks that were copied from
// another object, as on a ReplicaSet.
func applierOf(root rawjson.Value) (workload.Ref, bool) {
	mark := func(kind, key string) string {
		return root.Get("metadata." + kind + "." + rawjson.Escape(key)).Str
	}
	if root.Get("metadata.ownerReferences.#(controller==true)").Exists() {
		return workload.Ref{}, false
	}
	for _, gk := range []schema.GroupKind{kustomizationKind, helmReleaseKind} {
		if name := mark("labels", gk.Group+"/name"); name != "" {
			return workload.Ref{GroupKind: gk, Namespace: mark("labels", gk.Group+"/namespace"), Name: name}, true
		}
	}
	name, rest, ok := strings.Cut(mark("annotations", "argocd.argoproj.io/tracking-id"), ":")
	isOwn := ok && strings.HasSuffix(rest, "/"+root.Get("metadata.name").Str)
	if label := mark("labels", "app.kubernetes.io/instance"); !ok && label != "" && isManagedBy(root, isArgo) {
		name, isOwn = label, true
	}
	if !isOwn || name == "" {
		return workload.Ref{}, false
	}
	ref := workload.Ref{GroupKind: applicationKind, Name: name}
	if namespace, app, inAnyNamespace := strings.Cut(name, "_"); inAnyNamespace {
		ref.Namespace, ref.Name = namespace, app
	}
	return ref, true
}

// isArgo reports whether the field manager of the given name is Argo CD.
func isArgo(manager string) bool { return strings.HasPrefix(manager, "argocd-") }

func isManagedBy(root rawjson.Value, is func(manager string) bool) bool {
	return slices.ContainsFunc(root.Get("metadata.managedFields").Array(), func(e rawjson.Value) bool { return is(e.Get("manager").Str) })
}

// declares reports whether the GitOps tool applies the field at a JSON pointer. The managed fields of the object show
// this, or the object's last applied configuration. After a create of Argo CD 3.5.1 the managed fields have the defaults
// too, so the last applied configuration counts, except for fields applied on the server.
func (o applied) declares(pointer string) bool {
	is := map[schema.GroupKind]func(string) bool{
		applicationKind:   isArgo,
		kustomizationKind: func(manager string) bool { return manager == "kustomize-controller" },
		helmReleaseKind:   func(manager string) bool { return manager == "helm-controller" },
	}[o.by.GroupKind]
	if is == nil {
		return false
	}
	last := o.root.Get("metadata.annotations." + rawjson.Escape(corev1.LastAppliedConfigAnnotation)).Str
	isLast := o.by.GroupKind == applicationKind && last != ""
	return isLast && at(rawjson.Parse(last), pointer).Exists() || o.isOwned(pointer, func(e rawjson.Value) bool {
		return is(e.Get("manager").Str) && (!isLast || e.Get("operation").Str == "Apply")
	})
}

// isOwned reports whether a field manager owns the field at a JSON pointer, of the entries for which by returns true.
func (o applied) isOwned(pointer string, by func(entry rawjson.Value) bool) bool {
	return slices.ContainsFunc(o.root.Get("metadata.managedFields").Array(), func(e rawjson.Value) bool {
		fields := e.Get("fieldsV1")
		return by(e) && fields.IsObject() && workload.OwnsField([]byte(fields.Raw), pointer)
	})
}

// mayDeclare reports whether a HelmRelease may correct the drift of a field without an owner. Flyball gives the ownership up
// in the morning, and helm-controller 1.6 finds drift without owning the field.
func (a applier) mayDeclare(o applied, pointer string) bool {
	id := fmt.Sprintf("%s_%s_%s_%s", o.ref.Namespace, o.ref.Name, o.ref.Group, o.ref.Kind)
	return o.by.GroupKind == helmReleaseKind && a.root.Get("spec.driftDetection.mode").Str == "enabled" &&
		slices.ContainsFunc(a.root.Get("status.inventory.entries").Array(), func(e rawjson.Value) bool { return e.Get("id").Str == id }) &&
		!o.isOwned(pointer, func(e rawjson.Value) bool { return e.Get("manager").Str != workload.FieldManager })
}

// at returns the value at a JSON pointer.
func at(value rawjson.Value, pointer string) rawjson.Value {
	for _, token := range path.Pointer(pointer).Tokens() {
		value = value.Get(rawjson.Escape(token))
	}
	return value
}

// applier is an object of a GitOps tool. root is the object in the cluster. settings are the settings of Argo CD in the
// namespace of an Application.
type applier struct {
	root     rawjson.Value
	settings Settings
}

// find looks up an object of a GitOps tool by its reference.
func (t GitOps) find(by workload.Ref) (found applier, ok bool) {
	for _, raw := range t.Appliers {
		ref := source.RefOf(raw)
		if ref.GroupKind == by.GroupKind && ref.Name == by.Name && (by.Namespace == "" || ref.Namespace == by.Namespace) {
			return applier{rawjson.ParseBytes(raw), t.Settings[ref.Namespace]}, true
		}
	}
	return applier{}, false
}

// ref returns the given reference of the applier, with the applier's namespace if the namespace is known.
func (a applier) ref(by workload.Ref) workload.Ref {
	if namespace := a.root.Get("metadata.namespace").Str; namespace != "" {
		by.Namespace = namespace
	}
	return by
}

// leaves reports whether the GitOps tool leaves the given fields of an object to Flyball. If this depends on a setting
// that is not evaluated, unsure is the reason, and leaves is false.
func (a applier) leaves(o applied, pointers []string) (leaves bool, unsure string) {
	spec := a.root.Get("spec")
	switch o.by.GroupKind {
	case applicationKind:
		return a.argoLeaves(o, pointers)
	case kustomizationKind:
		return spec.Get("suspend").Bool() || o.isAppliedOnce() || fluxIgnores(pointers, spec.Get("ignore"), o), ""
	case helmReleaseKind:
		return spec.Get("suspend").Bool() || spec.Get("driftDetection.mode").Str != "enabled" ||
			fluxIgnores(pointers, spec.Get("driftDetection.ignore"), o), ""
	}
	return false, ""
}

// isAppliedOnce reports whether an annotation or a label of the object keeps Flux from applying the object again.
func (o applied) isAppliedOnce() bool {
	for _, from := range []string{"metadata.annotations.", "metadata.labels."} {
		policy := o.root.Get(from + rawjson.Escape(kustomizationKind.Group+"/ssa")).Str
		reconcile := o.root.Get(from + rawjson.Escape(kustomizationKind.Group+"/reconcile")).Str
		if strings.EqualFold(policy, "IfNotPresent") || strings.EqualFold(policy, "Ignore") || strings.EqualFold(reconcile, "disabled") {
			return true
		}
	}
	return false
}

// fluxIgnores reports whether rules of Flux ignore every given field of an object, or a field above it.
func fluxIgnores(pointers []string, rules rawjson.Value, o applied) bool {
	var ignored []string
	for _, rule := range rules.Array() {
		if fluxSelects(rule.Get("target"), o) {
			ignored = append(ignored, texts(rule.Get("paths"))...)
		}
	}
	return areIgnored(pointers, ignored)
}

// texts returns the elements of a list of texts.
func texts(list rawjson.Value) (all []string) {
	for _, p := range list.Array() {
		all = append(all, p.Str)
	}
	return all
}

// areIgnored reports whether every given field, or a field above it, is among the ignored fields.
func areIgnored(pointers, ignored []string) bool {
	return !slices.ContainsFunc(pointers, func(pointer string) bool {
		return !slices.ContainsFunc(ignored, func(p string) bool { return path.Pointer(p).IsPrefixOf(path.Pointer(pointer)) })
	})
}

// fluxSelects reports whether the selector of a rule of Flux selects the object. An empty part of the selector matches
// everything, and any other text is a regular expression. A selector with labels or annotations counts as not matching.
func fluxSelects(rule rawjson.Value, o applied) bool {
	for key, value := range map[string]string{"group": o.ref.Group, "kind": o.ref.Kind, "name": o.ref.Name, "namespace": o.ref.Namespace} {
		pattern := rule.Get(key).Str
		if pattern == "" || pattern == value {
			continue
		}
		if fits, err := regexp.MatchString("^(?:"+pattern+")$", value); err != nil || !fits {
			return false
		}
	}
	return !rule.Get("labelSelector").Exists() && !rule.Get("annotationSelector").Exists()
}
