package resize

import (
	"context"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/tuning/rollout"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

const own = "flyball"

var web = workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}

// resized returns a ready pod that a manager has changed in place, with a container that restarts for memory.
func resized(by string, edits ...func(*workload.Pod)) *workload.Pod {
	p := &workload.Pod{Namespace: "shop", Name: "a", UID: "a", Ready: true, Resize: workload.Resize{By: by},
		Containers: []workload.Container{{Name: "app", Resources: workload.Resources{Memory: 512}, RestartsForMemory: true}}}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func unready(p *workload.Pod)   { p.Ready = false }
func underWay(p *workload.Pod)  { p.Resize.State = workload.ResizeInProgress }
func failing(p *workload.Pod)   { p.Resize.State = workload.ResizeFailing }
func deferred(p *workload.Pod)  { p.Resize.State = workload.ResizeDeferred }
func unnoticed(p *workload.Pod) { p.Containers[0].RestartsForMemory = false }

// underTest are targets with their pods, if known.
type underTest map[workload.Ref]*workload.Fleet

func (m underTest) Fleet(ref workload.Ref) (*workload.Fleet, bool) { return m[ref], m[ref] != nil }
func (underTest) Resized() []workload.Ref                          { return nil }
func (underTest) ResizedPods(workload.Ref) []*workload.Pod         { return nil }
func (underTest) Groups(workload.Ref) []workload.Ref               { return nil }
func (underTest) Above(workload.Ref) ([]workload.Ref, bool)        { return nil, true }
func (underTest) Observe(pods.Listener)                            {}
func (underTest) Trouble() string                                  { return "" }
func (underTest) Awaited() []string                                { return nil }

// turns is a Turns that records the settled values of all calls of NoteRestart.
type turns struct{ settled []bool }

func (*turns) TakeRestart(context.Context, workload.Ref, workload.Policy, rollout.Need) string {
	return ""
}
func (l *turns) NoteRestart(_ workload.Ref, settled bool) { l.settled = append(l.settled, settled) }

// TestATargetKeepsItsTurnWhilePodsAreRestarted: a target keeps its turn even without a claim. After a start of the
// manager the claim may be unknown, and the turn must not go to another target while a node is still restarting pods.
// While pods are unknown, nothing is recorded.
func TestATargetKeepsItsTurnWhilePodsAreRestarted(t *testing.T) {
	for _, tc := range []struct {
		reason     string
		pods       *workload.Fleet
		told       []bool
		restarting bool
	}{
		{"the pods are not known", nil, nil, false},
		{"there are none", &workload.Fleet{Own: own}, []bool{true}, false},
		{"all are ready and through", &workload.Fleet{Own: own, Pods: []*workload.Pod{resized(own)}}, []bool{true}, false},
		{"a node is at it", &workload.Fleet{Own: own, Pods: []*workload.Pod{resized(own), resized(own, underWay)}}, []bool{false}, true},
		{"a node tries again", &workload.Fleet{Own: own, Pods: []*workload.Pod{resized(own, failing)}}, []bool{false}, true},
		{"the container was restarted and is not ready", &workload.Fleet{Own: own, Pods: []*workload.Pod{resized(own, unready)}}, []bool{false},
			true},
		{"a node has no room: nothing restarts", &workload.Fleet{Own: own, Pods: []*workload.Pod{resized(own, deferred)}}, []bool{true}, false},
		{"the change restarts nothing", &workload.Fleet{Own: own, Pods: []*workload.Pod{resized(own, underWay, unnoticed)}}, []bool{true}, false},
		{"somebody else has changed it", &workload.Fleet{Own: own, Pods: []*workload.Pod{resized("other", underWay)}}, []bool{true}, false},
		{"it is not ready for reasons of its own", &workload.Fleet{Own: own, Pods: []*workload.Pod{resized("", unready)}}, []bool{true}, false},
	} {
		turns := &turns{}
		l := New(world.New(selector.Scope{}), underTest{web: tc.pods}, nil, nil, nil, Options{Turns: turns, Log: logr.Discard()})
		if err := l.process(t.Context(), web); err != nil {
			t.Errorf("%s: %v", tc.reason, err)
		}
		if diff := cmp.Diff(tc.told, turns.settled); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
		if got := tc.pods != nil && podsize.IsRestarting(tc.pods); got != tc.restarting {
			t.Errorf("%s: it is restarting: %t", tc.reason, got)
		}
		l.queue.ShutDown()
	}
}

// TestATargetHasSettledOnceAPlanRestartsNothing: a target keeps its turn while pods are being restarted, and while pods
// have still to be restarted.
func TestATargetHasSettledOnceAPlanRestartsNothing(t *testing.T) {
	want := podsize.Sizes{"app": {Memory: 1024}}
	through := func(p *workload.Pod) { p.Containers[0].Memory = 1024 }
	for _, tc := range []struct {
		reason  string
		pods    []*workload.Pod
		settled bool
	}{
		{"one has still to be restarted", []*workload.Pod{resized(own, through), resized("")}, false},
		{"one has to, and nobody notices", []*workload.Pod{resized(own, through), resized("", unnoticed)}, true},
		{"all have been", []*workload.Pod{resized(own, through), resized(own, through)}, true},
		{"the last is being restarted", []*workload.Pod{resized(own, through), resized(own, through, underWay)}, false},
		{"what is impossible waits for nothing", []*workload.Pod{resized("", func(p *workload.Pod) { p.Resize.Unsupported = true })}, true},
	} {
		f := &workload.Fleet{Own: own, Pods: slices.Clone(tc.pods)}
		if got := isSettled(f, podsize.PlanResizes(f, want, podsize.ResizeOptions{}, nil)); got != tc.settled {
			t.Errorf("%s: it has settled: %t", tc.reason, got)
		}
	}
}
