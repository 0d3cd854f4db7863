package migrate

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
)

const (
	costPrefix = "pod-deletion-cost.lablabs.io/"
	// podCost is the annotation that Kubernetes reads.
	podCost     = "controller.kubernetes.io/pod-deletion-cost"
	defaultZone = "topology.kubernetes.io/zone"
)

var pod = schema.GroupKind{Kind: "Pod"}

func podDeletionCost() Tool {
	return Tool{
		Name: "pod-deletion-cost", Title: "pod-deletion-cost-controller",
		Reads: Namespaced(Deployment), Marked: Namespaced(pod),
		Convert: convertCosts, Sleepers: costMarks,
	}
}

// costed returns the Deployments for whose pods the tool sets deletion costs.
func costed(in *Input) []Object {
	return slices.DeleteFunc(in.Of(Deployment), func(d Object) bool {
		text, _ := d.Annotation(costPrefix + "enabled")
		return text != "true"
	})
}

// convertCosts adds one policy for each namespace and node label. A Deployment may name the label in an annotation, and
// the policy then selects this annotation. The policy for other Deployments selects Deployments without the annotation.
func convertCosts(in *Input, out *Output) {
	type group struct{ namespace, label string }
	var members Groups[group, Object]
	for _, d := range costed(in) {
		if kind, ok := d.Annotation(costPrefix + "type"); ok && kind != "zone" && kind != "" {
			out.Leave(d, "its type is %q, which is not known", kind)
			continue
		}
		label, _ := d.Annotation(costPrefix + "spread-by")
		members.Add(group{d.Namespace(), label}, d)
	}
	for _, g := range members.Keys {
		c := &v1alpha1.DeletionCost{ObjectMeta: Meta(g.namespace, "spread")}
		c.Spec.Target.Kinds, c.Spec.Algorithm = Refs(Deployment), "Spread"
		label := g.label
		if label == "" {
			label = defaultZone
			c.Spec.Target.AnnotationSelector = &metav1.LabelSelector{
				MatchLabels:      map[string]string{costPrefix + "enabled": "true"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: costPrefix + "spread-by", Operator: metav1.LabelSelectorOpDoesNotExist}},
			}
		} else {
			c.Name = "spread-by-" + Slug(label)
			c.Spec.Target.Annotations = map[string]string{costPrefix + "enabled": "true", costPrefix + "spread-by": label}
		}
		c.Spec.SpreadBy = v1alpha1.NodeLabels{label}
		out.Emit(c, members.Of[g]...).Note("it selects by the tool's own annotations: keep them")
	}
	if len(members.Keys) > 0 {
		out.Step("stop its controller")
		out.ApplyStep()
		out.TakeOverStep("pod-deletion-cost", "the costs that it has set stay otherwise, and Flyball yields to costs of other writers")
	}
}

// costMarks adds the deletion costs on pods as marks of the tool. The Deployment of a pod is found by the name of the
// pod's ReplicaSet, which is the Deployment's name and a hash.
func costMarks(in *Input, out *Output) {
	for _, d := range costed(in) {
		for _, p := range in.Of(pod) {
			owner := p.Get("metadata.ownerReferences.0")
			i := strings.LastIndexByte(owner.Get("name").Str, '-')
			if p.Namespace() != d.Namespace() || owner.Get("kind").Str != "ReplicaSet" || i < 0 || owner.Get("name").Str[:i] != d.Name() {
				continue
			}
			out.Sleepers = append(out.Sleepers, Sleeper{Object: p, Marks: []string{AnnotationPointer(podCost)}})
		}
	}
}
