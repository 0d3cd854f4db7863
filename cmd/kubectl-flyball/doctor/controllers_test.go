package doctor

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
)

// TestControllersWithoutAdapter checks that the adapters to put to use are named, and only those.
func TestControllersWithoutAdapter(t *testing.T) {
	owned := func(kind, name, apiVersion, owner string) string {
		return `
---
{apiVersion: apps/v1, kind: ` + kind + `, metadata: {name: ` + name + `, namespace: shop, uid: ` + name + `,
  ownerReferences: [{apiVersion: ` + apiVersion + `, kind: ` + owner + `, name: own, uid: own, controller: true}]}, spec: {replicas: 2}}`
	}
	files := `{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: nights, namespace: shop},
  spec: {upscale: "0 8 * * *", downscale: "0 20 * * *"}}` +
		owned("ReplicaSet", "a", "argoproj.io/v1alpha1", "Rollout") + owned("ReplicaSet", "b", "argoproj.io/v1alpha1", "Rollout") +
		owned("StatefulSet", "c", "bakery.example.com/v1", "Cake") + owned("StatefulSet", "d", "v1", "Pod") +
		owned("ReplicaSet", "e", "apps/v1", "Deployment") + owned("Deployment", "f", "v1", "ConfigMap")
	const cake = "Schedule/shop/nights: 1 object is controlled by Cake.bakery.example.com: put the adapter cakes.bakery.example.com to use. " +
		"The library has none: write it, or list these objects by kind and name, or exclude them"
	for _, tc := range []struct {
		off  string
		want []string
	}{
		{"rollouts.argoproj.io", []string{cake,
			"Schedule/shop/nights: 2 objects are controlled by Rollout.argoproj.io: put the adapter rollouts.argoproj.io to use"}},
		{"", []string{cake}},
	} {
		w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(files), Namespace: "shop",
			FlyballNamespace: source.DefaultNamespace}.Load()
		if err != nil {
			t.Fatal(err)
		}
		w.Adapters = slices.DeleteFunc(w.Adapters, func(a *v1alpha1.Adapter) bool { return a.Name == tc.off })
		memory, err := w.Memory()
		if err != nil {
			t.Fatal(err)
		}
		c := &Checkup{}
		if err := c.controllers(memory); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, c.Checks[0].Details); diff != "" {
			t.Errorf("without the adapter %q, wanted (-) and found (+):\n%s", tc.off, diff)
		}
	}
}
