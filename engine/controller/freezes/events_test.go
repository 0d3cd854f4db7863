package freezes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// noting returns a Recorder without a client, and the time of its clock for limiting events.
func noting(t *testing.T) (n *Recorder, wall *time.Time) {
	t.Helper()
	m, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	n = NewRecorder(nil, m, world.New(world.Scope("flyball-system", nil)), time.Now,
		func(workload.Policy, string, string, string) {}, "", testr.New(t))
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	n.wall = func() time.Time { return at }
	return n, &at
}

// queued returns the queued events, each as "policy reason action: text", and empties the queue.
func queued(n *Recorder) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queueRest()
	var list []string
	for _, a := range n.queue {
		list = append(list, fmt.Sprintf("%s %s %s: %s", a.policy, a.reason, a.action, a.text))
	}
	n.queue = nil
	return list
}

// asked returns the judgement of a user's roll-out of an object.
func asked(name, user string, verdict freeze.Verdict) freezeadmission.Judgement {
	return freezeadmission.Judgement{Verdict: verdict, Request: freeze.UserChange{
		Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: name, User: user, Actions: workload.ChangeRollOut,
	}}
}

func denials(n int) freeze.Verdict {
	v := freeze.Verdict{}
	for i := range n {
		v.Denials = append(v.Denials, freeze.Denial{Policy: workload.Policy{Kind: freeze.ClusterKind, Name: fmt.Sprintf("f%02d", i)},
			Enforcement: v1alpha1.EnforcementDeny, Actions: workload.ChangeRollOut})
	}
	return v
}

// Repeated and too many events are counted and sent as one event per minute.
func TestEventsAreCoalesced(t *testing.T) {
	n, wall := noting(t)
	for range 500 {
		n.Judged(asked("web", "alice", denials(1)))
	}
	const first = "ClusterChangeFreeze/f00 Denied RollOut: RollOut of Deployment.apps/shop/web by alice"
	if diff := cmp.Diff([]string{first}, queued(n)); diff != "" {
		t.Errorf("the same 500 times: %s", diff)
	}
	*wall = wall.Add(59 * time.Second)
	if got := queued(n); len(got) > 0 {
		t.Errorf("within the minute: %q", got)
	}
	*wall = wall.Add(time.Second)
	const rest = "ClusterChangeFreeze/f00 Denied RollOut: 499 more since 12:00:00, the last: RollOut of Deployment.apps/shop/web by alice"
	if diff := cmp.Diff([]string{rest}, queued(n)); diff != "" {
		t.Errorf("after the minute: %s", diff)
	}
	total := 0
	for minute := range 10 {
		for i := range 1000 {
			n.Judged(asked(fmt.Sprint("o", minute, "-", i), fmt.Sprint("user", i%7), denials(1)))
			total += len(queued(n))
		}
		*wall = wall.Add(time.Minute)
	}
	if total > 10*(maxTold+1) {
		t.Errorf("%d events of 10000 requests in ten minutes", total)
	}
	for range 3 { // the held-back events are sent, and then no events
		*wall = wall.Add(time.Minute)
		queued(n)
	}
	if len(n.occasions) > 0 {
		t.Errorf("%d occasions are remembered", len(n.occasions))
	}
}

// A request denied by very many policies causes events on the policies named in its refusal.
func TestEventsOfOneRequest(t *testing.T) {
	n, _ := noting(t)
	n.Judged(asked("web", "alice", denials(300)))
	if got := queued(n); len(got) != maxPolicies {
		t.Errorf("%d events", len(got))
	}
	if len(n.denials) != 300 {
		t.Errorf("counted on %d policies", len(n.denials))
	}
}

// The use of an exception is an event on the exception and on the policy, with user, object and action, unless another
// policy refuses the request after all.
func TestUsesOfExceptions(t *testing.T) {
	lifted := freeze.Verdict{Allowed: true, Lifts: []freeze.Lift{{
		Policy:    workload.Policy{Kind: freeze.ClusterKind, Name: "year-end"},
		Exception: workload.Policy{Kind: freeze.ExceptionKind, Namespace: "shop", Name: "fix"},
		Actions:   workload.ChangeRollOut | workload.ChangeScale,
	}}}
	n, _ := noting(t)
	n.Judged(asked("web", "alice", lifted))
	n.Judged(asked("web", "bob", lifted))
	want := []string{
		"ClusterChangeFreeze/year-end Lifted RollOutAndScale: RollOut and Scale of Deployment.apps/shop/web by alice, let through by " +
			"FreezeException/shop/fix",
		"FreezeException/shop/fix Used RollOutAndScale: RollOut and Scale of Deployment.apps/shop/web by alice, which " +
			"ClusterChangeFreeze/year-end denies",
		"ClusterChangeFreeze/year-end Lifted RollOutAndScale: RollOut and Scale of Deployment.apps/shop/web by bob, let through by " +
			"FreezeException/shop/fix",
		"FreezeException/shop/fix Used RollOutAndScale: RollOut and Scale of Deployment.apps/shop/web by bob, which " +
			"ClusterChangeFreeze/year-end denies",
	}
	if diff := cmp.Diff(want, queued(n)); diff != "" {
		t.Error(diff)
	}
	refused := denials(1)
	refused.Lifts = lifted.Lifts
	n.Judged(asked("other", "alice", refused))
	if got := queued(n); len(got) != 1 || !strings.Contains(got[0], "Denied") {
		t.Errorf("refused by another policy: %q", got)
	}
}
