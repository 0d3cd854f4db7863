package resize

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

// TestPodsKeepingRequestsAreReportedOnce: a pod is reported once, and only when it can no longer be deleted together
// with its former owner.
func TestPodsKeepingRequestsAreReportedOnce(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	told := ""
	l := &Actuator{
		watch: clock, keeping: map[workload.Ref]map[string]keeping{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[workload.Ref]()),
		opts:  Options{Kept: func(p *workload.Pod, why string) { told += p.Name + ": " + why + ". " }},
	}
	defer l.queue.ShutDown()
	owned := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, Namespace: "shop", Name: "web"}
	alone := workload.Ref{GroupKind: schema.GroupKind{Kind: "Pod"}, Namespace: "shop", Name: "a"}
	a := &workload.Pod{Namespace: "shop", Name: "a", UID: "u"}
	kept := leftovers{kept: map[*workload.Pod]string{a: "no room"}}
	tried := leftovers{changes: []podsize.ResizeChange{{Pod: a}}}
	for _, step := range []struct {
		reason string
		group  workload.Ref
		now    leftovers
		wait   time.Duration
		want   string
		untold bool
	}{
		{"its owner may have gone", owned, kept, 0, "", true},
		{"not long enough", owned, kept, keptFor - time.Second, "", true},
		{"long enough", owned, kept, time.Second, "a: no room. ", false},
		{"it was told", owned, kept, time.Hour, "", false},
		{"it is tried again", owned, tried, 0, "", false},
		{"it is refused again", owned, kept, time.Hour, "", false},
		{"it was given back", owned, leftovers{}, 0, "", false},
		{"nothing owns it that could go", alone, kept, 0, "a: no room. ", false},
		{"that was told, too", alone, kept, time.Hour, "", false},
	} {
		told = ""
		clock.Step(step.wait)
		l.tellKept(step.group, step.now)
		if told != step.want {
			t.Errorf("%s: %q, want %q", step.reason, told, step.want)
		}
		if untold := l.isUntold(step.group, step.now); untold != step.untold {
			t.Errorf("%s: it has still to be told: %t", step.reason, untold)
		}
	}
	l.forgetGroup(alone)
	if len(l.keeping) > 0 {
		t.Errorf("remembered: %+v", l.keeping)
	}
}
