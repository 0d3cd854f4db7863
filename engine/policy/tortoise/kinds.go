package tortoise

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
)

// Kinds returns the rows of tortoises in the table of policy kinds.
func Kinds() []policy.Row {
	return policy.Pair(KindName, "tortoises", "ftt",
		policy.NewKind[v1alpha1.Tortoise, v1alpha1.TortoiseList](Compile, func(t *v1alpha1.Tortoise) policy.Meta {
			p := parts(t.Spec.Target, t.Spec.Target.Kinds, t.Spec.TortoiseRules, &t.Status)
			tune := p.Rights
			p.Rights = func() []policy.Right { return append(tune(), madeRights(t)...) }
			return p
		}),
		policy.NewKind[v1alpha1.ClusterTortoise, v1alpha1.ClusterTortoiseList](CompileCluster, func(t *v1alpha1.ClusterTortoise) policy.Meta {
			return parts(t.Spec.Target, t.Spec.Target.Kinds, t.Spec.TortoiseRules, &t.Status)
		}))
}

// parts returns the parts of a policy that the engine uses. The kinds are among them, because the validity of the policy
// can depend on them. A policy that only recommends needs no right to patch. Any other policy needs the right to patch the
// selected kinds and their autoscalers.
func parts(target any, refs []v1alpha1.KindRef, rules v1alpha1.TortoiseRules, status *v1alpha1.TortoiseStatus) policy.Meta {
	return policy.Meta{Status: &status.PolicyStatus, Kinds: v1alpha1.GroupKinds(refs), Rights: func() []policy.Right {
		all := verticalRights(target, rules.History)
		if isOff(rules.Mode) {
			return all
		}
		asks := []any{target, rules.Resources, rules.Replicas, rules.Profile}
		return append(all,
			policy.Right{Verb: "patch", Field: "spec.target.kinds", Asks: asks},
			policy.Right{Verb: "patch", Autoscalers: true, Field: "spec.mode", Asks: asks},
		)
	}}
}

// verticalKind is the kind of VerticalPodAutoscalers.
var verticalKind = schema.GroupKind{Group: "autoscaling.k8s.io", Kind: "VerticalPodAutoscaler"}

// verticalRights returns the rights to create and delete VerticalPodAutoscalers. The created VerticalPodAutoscalers only
// recommend, so they are created in every mode.
func verticalRights(target any, history v1alpha1.TunedHistory) (all []policy.Right) {
	if !history.Create {
		return nil
	}
	for _, verb := range []string{"create", "delete"} {
		all = append(all, policy.Right{Verb: verb, Kind: verticalKind, Field: "spec.history.create", Asks: []any{target, history.Create}})
	}
	return all
}

// madeRights returns the rights of a Tortoise to create, change and delete an autoscaler.
func madeRights(t *v1alpha1.Tortoise) []policy.Right {
	if t.Spec.Autoscaler == nil || isOff(t.Spec.Mode) {
		return nil
	}
	var all []policy.Right
	for _, verb := range []string{"create", "patch", "delete"} {
		if verb != "delete" || t.Spec.Autoscaler.OnDelete == v1alpha1.DeleteAutoscaler {
			all = append(all, policy.Right{Verb: verb, Kind: autoscalerKind.GroupKind(), Field: "spec.autoscaler",
				Asks: []any{t.Spec.Target, t.Spec.Autoscaler, t.Spec.Replicas.Max}})
		}
	}
	return all
}

// isOff reports whether a mode changes nothing.
func isOff(mode v1alpha1.TortoiseMode) bool { return mode == "" || mode == v1alpha1.TortoiseOff }
