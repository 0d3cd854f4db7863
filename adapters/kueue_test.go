package adapters

import (
	"slices"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
)

// TestKindsThatKueueResumesAreLeftToTheirQueue checks that each kind with a switch that Kueue turns back on leaves an object with a queue
// alone (Kueue 0.19.2, pkg/controller/jobs).
func TestKindsThatKueueResumesAreLeftToTheirQueue(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"jobs.batch", "jobsets.jobset.x-k8s.io", "rayclusters.ray.io", "rayservices.ray.io"} {
		i := slices.IndexFunc(all, func(a v1alpha1.Adapter) bool { return a.Name == name })
		if i < 0 {
			t.Errorf("there is no adapter %s", name)
			continue
		}
		if !slices.ContainsFunc(all[i].Spec.Unable, func(u v1alpha1.Unable) bool {
			return len(u.When) == 1 && u.When[0].Path == ".metadata.labels['kueue.x-k8s.io/queue-name']" && u.When[0].Op == v1alpha1.OpExists
		}) {
			t.Errorf("%s changes objects that Kueue queues", name)
		}
	}
}
