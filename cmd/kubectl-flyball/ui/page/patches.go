package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/suggest"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// Workload is a target that can be asked about. Value has its form in an address.
type Workload struct{ Value, Text string }

// WorkloadSpace has the workloads of a namespace.
type WorkloadSpace struct {
	Namespace string
	Workloads []Workload
}

// WorkloadSpaces returns the targets with a pod template, by namespace.
func (t tuningBody) WorkloadSpaces() (all []WorkloadSpace) {
	var refs []workload.Ref
	for _, raw := range t.World.Objects {
		ref := source.RefOf(raw)
		if path := t.template(ref); path == nil || !rawjson.GetBytes(raw, strings.Join(path, ".")+".spec.containers").Exists() ||
			rawjson.GetBytes(raw, "metadata.ownerReferences.#(controller==true)").Exists() {
			continue
		}
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b workload.Ref) int { return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), a.Compare(b)) })
	for _, ref := range refs {
		if len(all) == 0 || all[len(all)-1].Namespace != ref.Namespace {
			all = append(all, WorkloadSpace{Namespace: ref.Namespace})
		}
		space := &all[len(all)-1]
		space.Workloads = append(space.Workloads, Workload{ref.String(), ref.Kind + " " + ref.Name})
	}
	return all
}

// template returns the fields that lead to the pod template of a kind, or nil if it has none at a plain path.
func (t tuningBody) template(ref workload.Ref) []string {
	for _, a := range t.World.Adapters {
		if a.Spec.Target.GroupKind() == ref.GroupKind && a.Spec.Pods != nil && a.Spec.Pods.Template != "" {
			fields := strings.Split(strings.TrimPrefix(string(a.Spec.Pods.Template), "."), ".")
			if strings.ContainsAny(string(a.Spec.Pods.Template), "[]'*?") {
				return nil
			}
			return fields
		}
	}
	return nil
}

// patches returns the recommended numbers of a target as manifests with the fields to change and no others.
func (t tuningBody) patches(one *tuned) (text string) {
	if path := t.template(one.Ref); path != nil {
		var containers []any
		for _, c := range one.status.Containers {
			requests := map[string]any{}
			if c.CPU != nil {
				requests["cpu"] = c.CPU.Recommended.String()
			}
			if c.Memory != nil {
				requests["memory"] = c.Memory.Recommended.String()
			}
			if len(requests) > 0 {
				containers = append(containers, map[string]any{"name": c.Name, "resources": map[string]any{"requests": requests}})
			}
		}
		if len(containers) > 0 {
			spec := any(map[string]any{"spec": map[string]any{"containers": containers}})
			for i := len(path) - 1; i > 0; i-- {
				spec = map[string]any{path[i]: spec}
			}
			text += t.manifest(one.Ref, path[0], spec)
		}
	}
	a := one.status.Autoscaler
	if a == nil || a.Name == "" {
		return text
	}
	gk := schema.ParseGroupKind(a.Kind)
	if gk.Kind != "HorizontalPodAutoscaler" { // other autoscalers have their bounds elsewhere
		return text
	}
	return text + t.manifest(workload.Ref{GroupKind: gk, Namespace: one.Ref.Namespace, Name: a.Name}, "spec",
		map[string]any{"minReplicas": a.Min.Recommended, "maxReplicas": a.Max.Recommended})
}

// manifest returns a manifest of an object of the world with one field.
func (t tuningBody) manifest(ref workload.Ref, field string, value any) string {
	version := ""
	for _, k := range t.World.Kinds {
		if k.GroupKind == ref.GroupKind {
			version = schema.GroupVersion{Group: ref.Group, Version: k.Resource.Version}.String()
		}
	}
	if version == "" {
		return ""
	}
	metadata := map[string]any{"name": ref.Name}
	if ref.Namespace != "" {
		metadata["namespace"] = ref.Namespace
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": version, "kind": ref.Kind, "metadata": metadata, field: value})
	if err != nil {
		return ""
	}
	return "---\n" + string(text)
}

// podEffect returns the effect of recommended requests on a pod in a sentence, or "" if nothing is recommended.
func podEffect(containers []v1alpha1.RecommendedContainer) string {
	var parts []string
	for _, r := range []struct {
		of   func(*v1alpha1.RecommendedContainer) *v1alpha1.RecommendedRequest
		text func(float64) string
	}{{func(c *v1alpha1.RecommendedContainer) *v1alpha1.RecommendedRequest { return c.CPU }, coresText},
		{func(c *v1alpha1.RecommendedContainer) *v1alpha1.RecommendedRequest { return c.Memory }, bytesText}} {
		var own, then float64
		known := false
		for i := range containers {
			if n := r.of(&containers[i]); n != nil {
				known = known || n.Own != nil
				then += n.Recommended.AsApproximateFloat64()
				if n.Own != nil {
					own += n.Own.AsApproximateFloat64()
				}
			}
		}
		switch {
		case then == 0:
		case known:
			parts = append(parts, r.text(then)+" instead of "+r.text(own))
		default:
			parts = append(parts, r.text(then)+" instead of nothing")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "A pod requests " + strings.Join(parts, ", and ") + "."
}

// coresText formats cores: 2.4 cores.
func coresText(cores float64) string {
	text := strconv.FormatFloat(cores, 'f', 1, 64)
	if cores < 1 {
		text = strconv.FormatFloat(cores, 'f', 2, 64)
	}
	if text == "1.0" {
		return "1 core"
	}
	return text + " cores"
}

// bytesText formats an amount of memory in MiB or GiB.
func bytesText(bytes float64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.0f MiB", bytes/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", bytes/(1<<30))
}

// Effect returns the effect of the recommendation in a sentence.
func (t tuningBody) Effect() string {
	f := t.Result.Finding
	if f.TooLittle() {
		return ""
	}
	b := f.BackTest
	if b == nil {
		own, then := f.Totals.Own, f.Totals.Recommended
		return fmt.Sprintf("%s and %s instead of %s and %s, for the usage of the last sample.", coresText(amountOf(then.CPU)),
			bytesText(amountOf(then.Memory)), coresText(amountOf(own.CPU)), bytesText(amountOf(own.Memory)))
	}
	text := coresText(b.Recommended.Cores) + " instead of " + coresText(b.Own.Cores)
	days := "day"
	if n := int(b.TriedUntil.Sub(b.LearntUntil).Hours()/24 + 0.5); n > 1 {
		days = count(n, "day")
	}
	if slow := b.Recommended.ViolationMinutes; slow == 0 && b.Own.ViolationMinutes == 0 {
		text += "; no slow minutes"
	} else {
		text += fmt.Sprintf("; %s slow minutes a week instead of %s", amount(slow), amount(b.Own.ViolationMinutes))
	}
	return text + ", in a trial on the last " + days + "."
}

// Patches returns the recommended requests of the result as a manifest.
func (t tuningBody) Patches() string {
	f := t.Result.Finding
	one := tuned{Ref: t.ref(), status: &v1alpha1.RecommendationStatus{}}
	for _, c := range f.Containers {
		one.status.Containers = append(one.status.Containers, v1alpha1.RecommendedContainer{Name: c.Name,
			CPU: requestOf(c.CPU), Memory: requestOf(c.Memory)})
	}
	return strings.TrimPrefix(t.patches(&one), "---\n")
}

func requestOf(q suggest.Quantity) *v1alpha1.RecommendedRequest {
	n, ok := workload.ParseQuantity(q.Recommended)
	if !ok {
		return nil
	}
	return &v1alpha1.RecommendedRequest{Recommended: n}
}

// ref returns the target of the result.
func (t tuningBody) ref() (ref workload.Ref) {
	for _, raw := range t.World.Objects {
		if source.RefOf(raw).String() == t.Result.Finding.Target {
			ref = source.RefOf(raw)
		}
	}
	return ref
}
