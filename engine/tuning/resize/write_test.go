package resize

import (
	"testing"

	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

func TestPatchOfAResizeHasAllContainers(t *testing.T) {
	got := string(patchOf(podsize.ResizeChange{Pod: &workload.Pod{UID: "u", Version: "7"}, Containers: []workload.Container{
		{Name: "main", Resources: workload.Resources{CPU: 250, Memory: 3 << 29, MemoryLimit: 3 << 30}},
		{Name: "side", Sidecar: true, Resources: workload.Resources{CPU: 2000}},
	}}))
	want := `{"metadata":{"uid":"u","resourceVersion":"7"},"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"250m",` +
		`"memory":"1536Mi"},"limits":{"memory":"3Gi"}}}],` +
		`"initContainers":[{"name":"side","resources":{"requests":{"cpu":"2"}}}]}}`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNotesNameTheObstacle(t *testing.T) {
	for want, n := range map[string]Note{
		"": {Resizing: workload.Resizing{Pods: 3, Resized: 3, Message: "nothing"}},
		"2 pods to be changed in place: changes pods in place, which waits for ChangeFreeze/a/b": {
			Resizing: workload.Resizing{Pods: 2, Waiting: 2}, Frozen: "changes pods in place, which waits for ChangeFreeze/a/b"},
		"2 pods to be changed in place: waits for others": {Resizing: workload.Resizing{Pods: 2, Waiting: 2}, Turn: "waits for others"},
		"1 pod being changed by the node, 2 pods deferred by the node, 1 pod that cannot be changed in place: pod a: no room": {
			Resizing: workload.Resizing{Pods: 5, Resized: 1, InProgress: 1, Deferred: 2, Infeasible: 1, Message: "pod a: no room"}},
	} {
		if got := n.Waits(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if n := (Note{Resizing: workload.Resizing{Infeasible: 1}}); !n.Stuck() {
		t.Error("a pod that cannot be changed is not stuck")
	}
	if n := (Note{Resizing: workload.Resizing{Deferred: 1}}); n.Stuck() {
		t.Error("a deferred pod is stuck")
	}
}
