package resize

import (
	"context"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/podplan"
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
func resized(by string, edits ...func(*podplan.Pod)) *podplan.Pod {
	p := &podplan.Pod{Namespace: "shop", Name: "a", UID: "a", Ready: true, Resize: podplan.Resize{By: by},
		Containers: []podplan.Container{{Name: "app", Resources: podplan.Resources{Memory: 512}, RestartsForMemory: true}}}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func unready(p *podplan.Pod)   { p.Ready = false }
func underWay(p *podplan.Pod)  { p.Resize.State = podplan.ResizeInProgress }
func failing(p *podplan.Pod)   { p.Resize.State = podplan.ResizeFailing }
func deferred(p *podplan.Pod)  { p.Resize.State = podplan.ResizeDeferred }
func unnoticed(p *podplan.Pod) { p.Containers[0].RestartsForMemory = false }

// underTest are targets with their pods, if known.
type underTest map[workload.Ref]*podplan.Fleet

func (m underTest) Fleet(ref workload.Ref) (*podplan.Fleet, bool) { return m[ref], m[ref] != nil }
func (underTest) Resized() []workload.Ref                         { return nil }
func (underTest) ResizedPods(workload.Ref) []*podplan.Pod         { return nil }
func (underTest) Groups(workload.Ref) []workload.Ref              { return nil }
func (underTest) Above(workload.Ref) ([]workload.Ref, bool)       { return nil, true }
func (underTest) Observe(pods.Listener)                           {}
func (underTest) Trouble() string                                 { return "" }

// looked is a Turns that records the settled values of all calls of LookRestart.
type looked struct{ settled []bool }

func (*looked) TakeRestart(context.Context, workload.Ref, workload.Policy, rollout.Need) string {
	return ""
}
func (l *looked) LookRestart(_ workload.Ref, settled bool) { l.settled = append(l.settled, settled) }

// TestATargetKeepsItsTurnWhilePodsAreRestarted: a target keeps its turn even without a claim. After a start of the
// manager the claim may be unknown, and the turn must not go to another target while a node is still restarting pods.
// While pods are unknown, nothing is recorded.
func TestATargetKeepsItsTurnWhilePodsAreRestarted(t *testing.T) {
	for _, tc := range []struct {
		reason     string
		pods       *podplan.Fleet
		told       []bool
		restarting bool
	}{
		{"the pods are not known", nil, nil, false},
		{"there are none", &podplan.Fleet{Own: own}, []bool{true}, false},
		{"all are ready and through", &podplan.Fleet{Own: own, Pods: []*podplan.Pod{resized(own)}}, []bool{true}, false},
		{"a node is at it", &podplan.Fleet{Own: own, Pods: []*podplan.Pod{resized(own), resized(own, underWay)}}, []bool{false}, true},
		{"a node tries again", &podplan.Fleet{Own: own, Pods: []*podplan.Pod{resized(own, failing)}}, []bool{false}, true},
		{"the container was restarted and is not ready", &podplan.Fleet{Own: own, Pods: []*podplan.Pod{resized(own, unready)}}, []bool{false},
			true},
		{"a node has no room: nothing restarts", &podplan.Fleet{Own: own, Pods: []*podplan.Pod{resized(own, deferred)}}, []bool{true}, false},
		{"the change restarts nothing", &podplan.Fleet{Own: own, Pods: []*podplan.Pod{resized(own, underWay, unnoticed)}}, []bool{true}, false},
		{"somebody else has changed it", &podplan.Fleet{Own: own, Pods: []*podplan.Pod{resized("other", underWay)}}, []bool{true}, false},
		{"it is not ready for reasons of its own", &podplan.Fleet{Own: own, Pods: []*podplan.Pod{resized("", unready)}}, []bool{true}, false},
	} {
		turns := &looked{}
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
	through := func(p *podplan.Pod) { p.Containers[0].Memory = 1024 }
	for _, tc := range []struct {
		reason  string
		pods    []*podplan.Pod
		settled bool
	}{
		{"one has still to be restarted", []*podplan.Pod{resized(own, through), resized("")}, false},
		{"one has to, and nobody notices", []*podplan.Pod{resized(own, through), resized("", unnoticed)}, true},
		{"all have been", []*podplan.Pod{resized(own, through), resized(own, through)}, true},
		{"the last is being restarted", []*podplan.Pod{resized(own, through), resized(own, through, underWay)}, false},
		{"what is impossible waits for nothing", []*podplan.Pod{resized("", func(p *podplan.Pod) { p.Resize.Unsupported = true })}, true},
	} {
		f := &podplan.Fleet{Own: own, Pods: slices.Clone(tc.pods)}
		if got := isSettled(f, podsize.PlanResizes(f, want, podsize.ResizeOptions{}, nil)); got != tc.settled {
			t.Errorf("%s: it has settled: %t", tc.reason, got)
		}
	}
}
