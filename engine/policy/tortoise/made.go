package tortoise

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// autoscalerKind is the kind of created autoscalers. newUtilisation is the target utilisation with which they are created,
// in percent of the request.
var autoscalerKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}

const newUtilisation = 70

// made compiles the autoscaler that the policy creates: its manifest at creation, and whether it is deleted with the
// policy. With mode Off no autoscaler is created.
func (t *tortoise) made(of *v1alpha1.Tortoise, ctx Context, at *field.Path) field.ErrorList {
	in := of.Spec.Autoscaler
	if in == nil {
		return nil
	}
	t.deletesMade = in.OnDelete == v1alpha1.DeleteAutoscaler
	var errs field.ErrorList
	if !in.Create {
		errs = append(errs, field.Invalid(at.Child("create"), false, "leave autoscaler out to use the one that governs the target"))
	}
	errs = append(errs, policy.OneOf(at.Child("onDelete"), in.OnDelete, v1alpha1.KeepAutoscaler, v1alpha1.DeleteAutoscaler)...)
	kinds, names := of.Spec.Target.Kinds, of.Spec.Target.Names
	if len(kinds) != 1 || len(names) != 1 || selector.IsGlob(names[0]) {
		errs = append(errs, field.Required(field.NewPath("spec", "target"), "autoscaler needs a target of one kind and one name, and no glob"))
	}
	if t.rules.max == nil {
		errs = append(errs, field.Required(field.NewPath("spec", "replicas", "max"),
			"nobody else says how far an autoscaler that is made may scale"))
	}
	if len(errs) > 0 || isOff(t.rules.mode) {
		return errs
	}
	gk := kinds[0].GroupKind()
	governed, known := ctx.Kind(gk)
	if known && !governed.Scales {
		errs = append(errs, field.Invalid(at, gk.String(), "has no count that an autoscaler could set"))
	}
	if !known || governed.Version == "" || len(errs) > 0 {
		return errs // this is compiled again once the adapter of the kind is ready
	}
	name := in.Name
	if name == "" {
		name = names[0]
	}
	version := schema.GroupVersion{Group: gk.Group, Version: governed.Version}
	manifest, err := json.Marshal(t.manifest(of.Namespace, name, version.WithKind(gk.Kind), names[0]))
	if err != nil {
		return field.ErrorList{field.InternalError(at, err)}
	}
	t.template = &policy.Template{GroupVersionKind: autoscalerKind, Namespace: of.Namespace, Name: name, Manifest: manifest,
		Governs: workload.Ref{GroupKind: gk, Namespace: of.Namespace, Name: names[0]}}
	return nil
}

// manifest returns the manifest with which the autoscaler is created.
func (t *tortoise) manifest(namespace, name string, governed schema.GroupVersionKind, target string) map[string]any {
	least := min(defaultMin, *t.rules.max)
	if t.rules.min != nil {
		least = *t.rules.min
	}
	utilisation := map[string]any{"type": "Utilization", "averageUtilization": newUtilisation}
	metric := map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu", "target": utilisation}}
	for _, c := range t.rules.containers {
		if c.cpu == v1alpha1.ScaleHorizontal && c.name != allContainers {
			metric = map[string]any{"type": "ContainerResource",
				"containerResource": map[string]any{"name": "cpu", "container": c.name, "target": utilisation}}
		}
	}
	return map[string]any{
		"apiVersion": autoscalerKind.GroupVersion().String(), "kind": autoscalerKind.Kind,
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": governed.GroupVersion().String(), "kind": governed.Kind, "name": target},
			"minReplicas":    least, "maxReplicas": *t.rules.max, "metrics": []any{metric},
		},
	}
}
