package trigger

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// identity is the part of a manifest that identifies the object.
type identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// compileTemplate compiles the object to create. It must be of the only kind in the target's list, in the namespace of
// the Trigger, and selected by the Trigger. Its name may come from target.names.
func compileTemplate(t *v1alpha1.Trigger, selector *selector.Selector, ctx Context) (*policy.Template, field.ErrorList) {
	at := field.NewPath("spec", "template")
	if t.Spec.Template == nil {
		return nil, nil
	}
	var is identity
	var manifest map[string]any
	// utiljson matches fields by their exact spelling, as the API server does.
	if err := utiljson.Unmarshal(t.Spec.Template.Raw, &is); err != nil {
		return nil, field.ErrorList{field.Invalid(at, string(t.Spec.Template.Raw), fmt.Sprintf("is not the manifest of an object: %v", err))}
	}
	// utiljson decodes integers as integers, and not as floating-point numbers.
	if err := utiljson.Unmarshal(t.Spec.Template.Raw, &manifest); err != nil || manifest == nil {
		return nil, field.ErrorList{field.Invalid(at, string(t.Spec.Template.Raw), "is not an object")}
	}
	gvk, errs := templateKind(is, t.Spec.Target.Kinds, ctx, at)
	name, es := templateName(is, t, at.Child("metadata"))
	if errs = append(errs, es...); len(errs) > 0 {
		return nil, errs
	}
	like := &workload.Object{Namespace: t.Namespace, Name: name, Labels: workload.NewPairs(is.Metadata.Labels),
		Annotations: workload.NewPairs(is.Metadata.Annotations)}
	if !selector.Matches(gvk.GroupKind(), like, nil) {
		errs = append(errs, field.Invalid(at, name, "the object made would not be selected by spec.target"))
	}
	metadata, _ := manifest["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		manifest["metadata"] = metadata
	}
	metadata["name"], metadata["namespace"] = name, t.Namespace
	delete(manifest, "status")
	text, err := json.Marshal(manifest)
	if err != nil {
		errs = append(errs, field.InternalError(at, err))
	}
	if k, ok := ctx.Kind(gvk.GroupKind()); ok && k.Refers != nil && k.Governs && !k.Refers(text) {
		errs = append(errs, field.Required(at.Child("spec"), fmt.Sprintf("a %s without a reference to its scale target does nothing", gvk.Kind)))
	}
	errs = append(errs, checkKeys("labels", is.Metadata.Labels, at)...)
	errs = append(errs, checkKeys("annotations", is.Metadata.Annotations, at)...)
	errs = append(errs, checkZero(t.Spec.Triggers, gvk.GroupKind(), manifest, field.NewPath("spec", "triggers"))...)
	made := &policy.Template{GroupVersionKind: gvk, Namespace: t.Namespace, Name: name, Manifest: text, Labels: keys(is.Metadata.Labels),
		Annotations: keys(is.Metadata.Annotations)}
	for key := range metadata {
		made.Opaque = made.Opaque || !slices.Contains([]string{"name", "namespace", "labels", "annotations"}, key)
	}
	return made, errs
}

func keys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// checkKeys refuses Flyball's own labels and annotations. A ledger in a template would control Flyball's restore.
func checkKeys(name string, m map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range keys(m) {
		if policy.IsOwnKey(key) {
			errs = append(errs, field.Forbidden(at.Child("metadata", name).Key(key), "keys under "+v1alpha1.GroupVersion.Group+
				" are not for templates to set"))
		}
	}
	return errs
}

// autoscalerKind is the only kind whose lowest minimum depends on the object. The API server accepts the minimum 0 only if
// the autoscaler has a metric that is readable without pods.
var autoscalerKind = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}

// checkZero refuses a minimum of 0 for the template of an autoscaler without such a metric. Autoscalers without a template
// are unknown before they are written, so they are not checked.
func checkZero(triggers []v1alpha1.TimeTrigger, gk schema.GroupKind, manifest map[string]any, at *field.Path) field.ErrorList {
	if gk != autoscalerKind || readsWithoutPods(manifest) {
		return nil
	}
	var errs field.ErrorList
	check := func(v *v1alpha1.TriggerValues, here *field.Path) {
		if v != nil && v.Min != nil && *v.Min == 0 {
			errs = append(errs, field.Invalid(here.Child("min"), 0,
				"the template has no metric of type Object or External, so the autoscaler accepts no minimum below 1"))
		}
	}
	for i := range triggers {
		check(&triggers[i].During, at.Index(i).Child("during"))
		check(triggers[i].After, at.Index(i).Child("after"))
	}
	return errs
}

func readsWithoutPods(manifest map[string]any) bool {
	spec, _ := manifest["spec"].(map[string]any)
	metrics, _ := spec["metrics"].([]any)
	return slices.ContainsFunc(metrics, func(m any) bool {
		metric, _ := m.(map[string]any)
		return metric["type"] == "Object" || metric["type"] == "External"
	})
}

func templateKind(is identity, kinds []v1alpha1.KindRef, ctx Context, at *field.Path) (schema.GroupVersionKind, field.ErrorList) {
	var errs field.ErrorList
	if is.APIVersion == "" {
		errs = append(errs, field.Required(at.Child("apiVersion"), "as in any manifest"))
	}
	if is.Kind == "" {
		errs = append(errs, field.Required(at.Child("kind"), "as in any manifest"))
	}
	if len(errs) > 0 {
		return schema.GroupVersionKind{}, errs
	}
	gv, err := schema.ParseGroupVersion(is.APIVersion)
	if err != nil {
		return schema.GroupVersionKind{}, field.ErrorList{field.Invalid(at.Child("apiVersion"), is.APIVersion, err.Error())}
	}
	gvk := gv.WithKind(is.Kind)
	if len(kinds) != 1 || kinds[0].Group != gv.Group || kinds[0].Kind != is.Kind {
		return gvk, field.ErrorList{field.Invalid(at.Child("kind"), is.Kind,
			fmt.Sprintf("spec.target.kinds has to list exactly {group: %q, kind: %s}", gv.Group, is.Kind))}
	}
	if k, ok := ctx.Kind(gvk.GroupKind()); ok && k.Version != "" && k.Version != gv.Version {
		return gvk, field.ErrorList{field.Invalid(at.Child("apiVersion"), is.APIVersion,
			fmt.Sprintf("the adapter speaks version %s: write %s", k.Version, schema.GroupVersion{Group: gv.Group, Version: k.Version}))}
	}
	return gvk, nil
}

func templateName(is identity, t *v1alpha1.Trigger, at *field.Path) (string, field.ErrorList) {
	var errs field.ErrorList
	if ns := is.Metadata.Namespace; ns != "" && ns != t.Namespace {
		errs = append(errs, field.Invalid(at.Child("namespace"), ns,
			fmt.Sprintf("a Trigger makes objects in its own namespace, %s, only", t.Namespace)))
	}
	name := is.Metadata.Name
	if names := t.Spec.Target.Names; name == "" && len(names) == 1 && !selector.IsGlob(names[0]) {
		name = names[0]
	}
	if name == "" {
		errs = append(errs, field.Required(at.Child("name"), "give it here, or exactly one name, and no glob, in spec.target.names"))
	}
	return name, errs
}
