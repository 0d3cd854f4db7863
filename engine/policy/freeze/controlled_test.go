package freeze_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
)

// A freeze of Deployments alone warns that their ReplicaSets are not judged; a freeze of both, or of all
// kinds, has no warning.
func TestWarningsNameUnjudgedGeneratedKinds(t *testing.T) {
	deployment, replicaSet := v1alpha1.KindRef{Group: "apps", Kind: "Deployment"}, v1alpha1.KindRef{Group: "apps", Kind: "ReplicaSet"}
	for reason, c := range map[string]struct {
		kinds []v1alpha1.KindRef
		want  []string
	}{
		"everything":            {nil, nil},
		"what controls nothing": {[]v1alpha1.KindRef{{Group: "apps", Kind: "StatefulSet"}}, nil},
		"both":                  {[]v1alpha1.KindRef{deployment, replicaSet}, nil},
		"what is made alone":    {[]v1alpha1.KindRef{replicaSet}, nil},
		"Deployments": {[]v1alpha1.KindRef{deployment}, []string{
			"spec.target.kinds lists Deployment and not ReplicaSet: changes of the ReplicaSets that a Deployment controls are not judged"}},
	} {
		f := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sale"}}
		f.Spec.StartTime, f.Spec.EndTime = metav1.Unix(1, 0), metav1.Unix(2, 0)
		f.Spec.Target.Kinds, f.Spec.Deny = c.kinds, []v1alpha1.Action{v1alpha1.ActionRollOut}
		rule, _, errs := freeze.CompileObject(f, freeze.Context{Scope: selector.Scope{}})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		if got := rule.Unjudged(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", reason, got, c.want)
		}
	}
}
