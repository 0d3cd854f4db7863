package world_test

import (
	"runtime"
	"testing"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/world"
)

// A snapshot without references is collected, together with every replaced form of a policy. Otherwise the manager's
// memory would grow with each edit.
func TestOldSnapshotsAreCollected(t *testing.T) {
	w := world.New(world.Scope("flyball-system", nil))
	kind, ok := kinds.Find("Schedule")
	if !ok {
		t.Fatal("there is no kind Schedule")
	}
	var snapshots []weak.Pointer[world.Snapshot]
	var objects []weak.Pointer[v1alpha1.Schedule]
	for generation := range int64(3) {
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights", UID: "1", Generation: generation}}
		s.Spec.Downscale, s.Spec.Upscale = "0 20 * * *", "0 8 * * *"
		w.Update(func(tx *world.Tx) { tx.SetPolicy(kind, s) })
		snapshots, objects = append(snapshots, weak.Make(w.Snapshot())), append(objects, weak.Make(s))
	}
	runtime.GC()
	for i := range 2 {
		if snapshots[i].Value() != nil {
			t.Errorf("snapshot %d, replaced since, is still in memory", i)
		}
		if objects[i].Value() != nil {
			t.Errorf("generation %d of the schedule, replaced since, is still in memory", i)
		}
	}
	if now := w.Snapshot(); now.PolicyCount() != 1 || objects[2].Value() == nil {
		t.Errorf("the world has %d policies, want the one that was set last", now.PolicyCount())
	}
	runtime.KeepAlive(w)
}
