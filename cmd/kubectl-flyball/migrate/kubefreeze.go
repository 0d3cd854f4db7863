package migrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
)

const freezePrefix = "freeze-operator.io/"

var (
	foreignFreeze    = schema.GroupKind{Group: "freeze-operator.io", Kind: "ChangeFreeze"}
	foreignWindow    = schema.GroupKind{Group: "freeze-operator.io", Kind: "MaintenanceWindow"}
	foreignException = schema.GroupKind{Group: "freeze-operator.io", Kind: "FreezeException"}
	kustomization    = schema.GroupKind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}
	helmRelease      = schema.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}

	frozenKinds = map[string]schema.GroupKind{"Deployment": Deployment, "StatefulSet": StatefulSet,
		"DaemonSet": DaemonSet, "CronJob": CronJob}
	actions = map[string]v1alpha1.Action{
		"CREATE": v1alpha1.ActionCreate, "DELETE": v1alpha1.ActionDelete, "ROLL_OUT": v1alpha1.ActionRollOut, "SCALE": v1alpha1.ActionScale}
)

func kubeFreeze() Tool {
	return Tool{
		Name: "kube-freeze", Title: "kube-freeze-operator",
		Reads:   []ToolKind{Clustered(foreignFreeze), Clustered(foreignWindow), Clustered(foreignException)},
		Marked:  Namespaced(CronJob, kustomization, helmRelease, Application),
		Convert: convertFreezes, Sleepers: freezeSleepers,
	}
}

func convertFreezes(in *Input, out *Output) {
	for _, f := range in.Of(foreignFreeze) {
		start, end := instantOf(f.Get("spec.startTime")), instantOf(f.Get("spec.endTime"))
		if start.IsZero() || end.IsZero() {
			out.Leave(f, "startTime or endTime is no instant")
			continue
		}
		period := v1alpha1.FreezePeriod{Period: v1alpha1.Period{StartTime: start, EndTime: end}}
		emitFreezes(f, out, func(name string, target v1alpha1.ClusterTargetSelector, rules frozenRules) *Emitted {
			return out.Emit(&v1alpha1.ClusterChangeFreeze{ObjectMeta: Meta("", name),
				Spec: v1alpha1.ClusterChangeFreezeSpec{Target: target, FreezePeriod: period, FreezeRules: rules.FreezeRules,
					Suspend: rules.suspend}}, f)
		})
	}
	for _, w := range in.Of(foreignWindow) {
		var windows []v1alpha1.Window
		for _, x := range w.Get("spec.windows").Array() {
			windows = append(windows, v1alpha1.Window{Name: x.Get("name").Str, Cron: x.Get("schedule").Str,
				Duration: v1alpha1.Duration(x.Get("duration").Str)})
		}
		if mode := w.Get("spec.mode").Str; mode != "" && mode != "DenyOutsideWindows" {
			out.Leave(w, "its mode is %q, which is not known", mode)
			continue
		}
		emitFreezes(w, out, func(name string, target v1alpha1.ClusterTargetSelector, rules frozenRules) *Emitted {
			return out.Emit(&v1alpha1.ClusterMaintenanceWindow{ObjectMeta: Meta("", name),
				Spec: v1alpha1.ClusterMaintenanceWindowSpec{Target: target, Windows: windows, FreezeRules: rules.FreezeRules,
					Suspend: rules.suspend}}, w)
		})
	}
	for _, x := range in.Of(foreignException) {
		convertException(x, out)
	}
	if len(in.Of(foreignFreeze))+len(in.Of(foreignWindow))+len(in.Of(foreignException)) > 0 {
		out.CheckStep("kube-freeze")
		out.ApplyStep()
		out.Step("delete its ValidatingWebhookConfiguration: it fails closed and would refuse the take-over; then stop its controller")
		out.TakeOverStep("kube-freeze", "under a freeze that is in force here this takes a ClusterFreezeException for RollOut and Scale")
		out.Step("delete its objects: they have no finalizers, and objects suspended by them stay so unless they were taken over")
	}
}

// frozenRules are the rules of a freeze, with the kinds that the freeze suspends.
type frozenRules struct {
	v1alpha1.FreezeRules
	suspend []v1alpha1.ClusterFreezeSuspend
}

func suspended(gk schema.GroupKind) []v1alpha1.ClusterFreezeSuspend {
	return []v1alpha1.ClusterFreezeSuspend{{FreezeSuspend: v1alpha1.FreezeSuspend{KindRef: Refs(gk)[0]}}}
}

// emitFreezes adds the counterpart of a freeze or a window, and a further freeze for each kind of GitOps objects that
// it suspends.
func emitFreezes(f Object, out *Output,
	emit func(string, v1alpha1.ClusterTargetSelector, frozenRules) *Emitted) {
	spec := f.Get("spec")
	target, unknown := freezeTarget(spec.Get("target"))
	if unknown != "" {
		out.Leave(f, "%s", unknown)
		return
	}
	rules := frozenRules{FreezeRules: v1alpha1.FreezeRules{TimeZone: Zone(spec.Get("timezone").Str),
		Deny: actionsOf(spec.Get("rules.deny")), Message: Decoded[v1alpha1.FreezeMessage](spec.Get("message"))}}
	own := rules
	hasCronJobs := slices.Contains(target.Kinds, Refs(CronJob)[0])
	if spec.Get("behavior.suspendCronJobs").Bool() && hasCronJobs {
		own.suspend = suspended(CronJob)
	}
	e := emit(f.Name(), target, own)
	if spec.Get("behavior.suspendCronJobs").Bool() && !hasCronJobs {
		e.Note("suspendCronJobs is dropped: target.kinds has no CronJob, so it does nothing there")
	}
	noteActions(e, own.Deny, target.Kinds)
	git := spec.Get("behavior.gitops")
	providers := Texts(git.Get("providers"))
	if !git.Get("enabled").Bool() {
		return
	}
	more := func(suffix string, part rawjson.Value, selector string, gk schema.GroupKind) {
		t := v1alpha1.ClusterTargetSelector{NamespaceSelector: orAll(part.Get("namespaceSelector"))}
		t.Kinds, t.Selector, t.Exclude = Refs(gk), Decoded[metav1.LabelSelector](part.Get(selector)), &metav1.LabelSelector{}
		r := rules
		r.Deny, r.suspend = []v1alpha1.Action{}, suspended(gk)
		emit(f.Name()+"-"+suffix, t, r).Note("behavior.gitops selects on its own, so it is a freeze of its own, which denies nothing")
	}
	if slices.Contains(providers, "argocd") {
		more("applications", git.Get("argocd"), "applicationSelector", Application)
	}
	if slices.Contains(providers, "flux") {
		more("kustomizations", git.Get("flux"), "kustomizationSelector", kustomization)
		more("helmreleases", git.Get("flux"), "helmReleaseSelector", helmRelease)
	}
	if len(providers) == 0 {
		e.Note("behavior.gitops names no provider, so it does nothing there")
	}
}

// noteActions adds notes about actions that have a different meaning in the tool.
func noteActions(e *Emitted, deny []v1alpha1.Action, kinds []v1alpha1.KindRef) {
	for _, gk := range []schema.GroupKind{DaemonSet, CronJob} {
		if slices.Contains(deny, v1alpha1.ActionRollOut) && slices.Contains(kinds, Refs(gk)[0]) {
			e.Note("any update of a %s is ROLL_OUT there; here edits of metadata pass%s", gk.Kind,
				map[bool]string{true: ", and to suspend it is Scale"}[gk == CronJob])
		}
	}
	if slices.Contains(deny, v1alpha1.ActionScale) {
		e.Note("an edit of the template with another count is no SCALE there; here it is both RollOut and Scale")
	}
	e.Note("namespaceSelector never reaches kube-system, kube-public, kube-node-lease and Flyball's own namespace here")
}

func orAll(selector rawjson.Value) *metav1.LabelSelector {
	if s := Decoded[metav1.LabelSelector](selector); s != nil {
		return s
	}
	return &metav1.LabelSelector{}
}

// freezeTarget returns the selection of a freeze. Its Exclude is empty, because the tool has no label to exclude an
// object. The result unknown is the reason if the selection has no counterpart.
func freezeTarget(target rawjson.Value) (t v1alpha1.ClusterTargetSelector, unknown string) {
	t.NamespaceSelector = orAll(target.Get("namespaceSelector"))
	t.Selector, t.Exclude = Decoded[metav1.LabelSelector](target.Get("objectSelector")), &metav1.LabelSelector{}
	for _, kind := range Texts(target.Get("kinds")) {
		gk, ok := frozenKinds[kind]
		if !ok {
			return t, fmt.Sprintf("target.kinds has %q, which is not known", kind)
		}
		t.Kinds = append(t.Kinds, Refs(gk)...)
	}
	if len(t.Kinds) == 0 {
		return t, "target.kinds is empty: it selects nothing there, and would select everything here"
	}
	return t, ""
}

func actionsOf(list rawjson.Value) []v1alpha1.Action {
	var all []v1alpha1.Action
	for _, text := range Texts(list) {
		if a, ok := actions[text]; ok {
			all = append(all, a)
		}
	}
	return all
}

func instantOf(v rawjson.Value) metav1.Time {
	t, err := time.Parse(time.RFC3339, v.Str)
	if err != nil {
		return metav1.Time{}
	}
	return metav1.NewTime(t)
}

func convertException(x Object, out *Output) {
	spec := x.Get("spec")
	target, unknown := freezeTarget(spec.Get("target"))
	from, to := instantOf(spec.Get("activeFrom")), instantOf(spec.Get("activeTo"))
	if from.IsZero() || to.IsZero() {
		unknown = "activeFrom or activeTo is no instant"
	}
	if unknown != "" {
		out.Leave(x, "%s", unknown)
		return
	}
	rules := v1alpha1.ExceptionRules{ActiveFrom: from, ActiveTo: to, Allow: actionsOf(spec.Get("allow")), Reason: spec.Get("reason").Str,
		TicketURL: spec.Get("ticketURL").Str, ApprovedBy: spec.Get("approvedBy").Str,
		Constraints: Decoded[v1alpha1.ExceptionConstraints](spec.Get("constraints"))}
	e := out.Emit(&v1alpha1.ClusterFreezeException{ObjectMeta: Meta("", x.Name()),
		Spec: v1alpha1.ClusterFreezeExceptionSpec{Target: target, ExceptionRules: rules}}, x)
	for _, user := range Texts(spec.Get("constraints.allowedUsers")) {
		if strings.HasPrefix(user, "system:serviceaccount:kube-system:") {
			e.Note("%s: controllers of the control plane, autoscalers among them, are not judged here; drop the exception if it is for them only",
				user)
		}
	}
}

// freezeSleepers adds the objects that the tool's annotations mark as suspended.
func freezeSleepers(in *Input, out *Output) {
	marks := []string{}
	for _, key := range []string{"original-suspend", "original-autosync", "managed-by", "managed", "managed-by-policy"} {
		marks = append(marks, AnnotationPointer(freezePrefix+key))
	}
	for _, gk := range []schema.GroupKind{CronJob, kustomization, helmRelease} {
		for _, o := range in.Of(gk) {
			s := Sleeper{Object: o, Marks: marks}
			text, ok := o.Annotation(freezePrefix + "original-suspend")
			suspended := o.Get("spec.suspend").Bool()
			switch {
			case ok && text == "false" && suspended:
				s.Originals = []Original{{Pointer: "/spec/suspend", Was: "false", Set: "true"}}
			case ok && text == "true" && !suspended:
				s.ByHand = append(s.ByHand, "the tool has resumed an object that its owner had suspended: look whether it is to be suspended")
			case ok && text != "true" && text != "false":
				s.Marks, s.ByHand = nil, append(s.ByHand,
					fmt.Sprintf("the original is %q, which is not known: look whether it is to be suspended, and take the annotations away", text))
			}
			out.Sleepers = append(out.Sleepers, s)
		}
	}
	for _, o := range in.Of(Application) {
		s := Sleeper{Object: o, Marks: marks}
		text, ok := o.Annotation(freezePrefix + "original-autosync")
		syncing := o.Get("spec.syncPolicy.automated").Exists()
		switch {
		case !ok || syncing:
		case rawjson.Parse(text).IsObject() && rawjson.Valid(text):
			s.Originals = []Original{{Pointer: "/spec/syncPolicy/automated", Was: text}}
		default:
			s.ByHand = append(s.ByHand,
				fmt.Sprintf("the original is %s: there was no automated sync, or a second policy has overwritten the original; look in Git", text))
		}
		out.Sleepers = append(out.Sleepers, s)
	}
}
