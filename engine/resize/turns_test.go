package resize

import (
	"context"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/fleet/inplace"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

const own = "flyball"

var web = workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}

// resized returns a ready pod that a manager has changed in place, with a container that restarts for memory.
func resized(by string, edits ...func(*fleet.Pod)) *fleet.Pod {
	p := &fleet.Pod{Namespace: "shop", Name: "a", UID: "a", Ready: true, Resize: fleet.Resize{By: by},
		Containers: []fleet.Container{{Name: "app", Resources: fleet.Resources{Memory: 512}, RestartsForMemory: true}}}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func unready(p *fleet.Pod)   { p.Ready = false }
func underWay(p *fleet.Pod)  { p.Resize.State = fleet.ResizeInProgress }
func failing(p *fleet.Pod)   { p.Resize.State = fleet.ResizeFailing }
func deferred(p *fleet.Pod)  { p.Resize.State = fleet.ResizeDeferred }
func unnoticed(p *fleet.Pod) { p.Containers[0].RestartsForMemory = false }

// underTest are targets with their pods, if known.
type underTest map[workload.Ref]*fleet.Fleet

func (m underTest) Fleet(ref workload.Ref) (*fleet.Fleet, bool) { return m[ref], m[ref] != nil }
func (underTest) Resized() []workload.Ref                       { return nil }
func (underTest) ResizedPods(workload.Ref) []*fleet.Pod         { return nil }
func (underTest) Groups(workload.Ref) []workload.Ref            { return nil }
func (underTest) Above(workload.Ref) ([]workload.Ref, bool)     { return nil, true }
func (underTest) Trouble() string                               { return "" }

// looked records the calls of the turns: whether a target has settled.
type looked struct{ settled []bool }

func (*looked) TakeRestart(context.Context, workload.Ref, workload.Policy, apply.Need) string {
	return ""
}
func (l *looked) LookRestart(_ workload.Ref, settled bool) { l.settled = append(l.settled, settled) }

// TestATargetKeepsItsTurnWhilePodsAreRestarted, also without a claim: after a start of the manager the claim may be
// unknown, and the turn must not go to another target while a node is still restarting pods. While pods are unknown,
// nothing is recorded.
func TestATargetKeepsItsTurnWhilePodsAreRestarted(t *testing.T) {
	for _, tc := range []struct {
		reason     string
		pods       *fleet.Fleet
		told       []bool
		restarting bool
	}{
		{"the pods are not known", nil, nil, false},
		{"there are none", &fleet.Fleet{Own: own}, []bool{true}, false},
		{"all are ready and through", &fleet.Fleet{Own: own, Pods: []*fleet.Pod{resized(own)}}, []bool{true}, false},
		{"a node is at it", &fleet.Fleet{Own: own, Pods: []*fleet.Pod{resized(own), resized(own, underWay)}}, []bool{false}, true},
		{"a node tries again", &fleet.Fleet{Own: own, Pods: []*fleet.Pod{resized(own, failing)}}, []bool{false}, true},
		{"the container was restarted and is not ready", &fleet.Fleet{Own: own, Pods: []*fleet.Pod{resized(own, unready)}}, []bool{false}, true},
		{"a node has no room: nothing restarts", &fleet.Fleet{Own: own, Pods: []*fleet.Pod{resized(own, deferred)}}, []bool{true}, false},
		{"the change restarts nothing", &fleet.Fleet{Own: own, Pods: []*fleet.Pod{resized(own, underWay, unnoticed)}}, []bool{true}, false},
		{"somebody else has changed it", &fleet.Fleet{Own: own, Pods: []*fleet.Pod{resized("other", underWay)}}, []bool{true}, false},
		{"it is not ready for reasons of its own", &fleet.Fleet{Own: own, Pods: []*fleet.Pod{resized("", unready)}}, []bool{true}, false},
	} {
		turns := &looked{}
		l := New(world.New(selector.Scope{}), underTest{web: tc.pods}, nil, nil, nil, Options{Turns: turns, Log: logr.Discard()})
		if err := l.process(t.Context(), web); err != nil {
			t.Errorf("%s: %v", tc.reason, err)
		}
		if diff := cmp.Diff(tc.told, turns.settled); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
		if got := l.IsRestarting(web); got != tc.restarting {
			t.Errorf("%s: it is restarting: %t", tc.reason, got)
		}
		l.queue.ShutDown()
	}
}

// TestATargetHasSettledOnceAPlanRestartsNothing: pods that have still to be restarted keep the turn as those do that are.
func TestATargetHasSettledOnceAPlanRestartsNothing(t *testing.T) {
	want := inplace.Want{"app": {Memory: 1024}}
	through := func(p *fleet.Pod) { p.Containers[0].Memory = 1024 }
	for _, tc := range []struct {
		reason  string
		pods    []*fleet.Pod
		settled bool
	}{
		{"one has still to be restarted", []*fleet.Pod{resized(own, through), resized("")}, false},
		{"one has to, and nobody notices", []*fleet.Pod{resized(own, through), resized("", unnoticed)}, true},
		{"all have been", []*fleet.Pod{resized(own, through), resized(own, through)}, true},
		{"the last is being restarted", []*fleet.Pod{resized(own, through), resized(own, through, underWay)}, false},
		{"what is impossible waits for nothing", []*fleet.Pod{resized("", func(p *fleet.Pod) { p.Resize.Unsupported = true })}, true},
	} {
		f := &fleet.Fleet{Own: own, Pods: slices.Clone(tc.pods)}
		if got := isSettled(f, inplace.For(f, want, inplace.Options{}, nil)); got != tc.settled {
			t.Errorf("%s: it has settled: %t", tc.reason, got)
		}
	}
}
