package status

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// The reason of a delayed deletion is in the status, and in an event if a user must act.
func TestADelayedDeletionStatesTheReason(t *testing.T) {
	web, api := object("web"), object("api")
	for _, test := range []struct {
		reason    string
		remaining []workload.Ref
		tell      func(*counts)
		message   string
		event     bool
	}{
		{"writes under way", []workload.Ref{web, api}, func(*counts) {},
			"being deleted: 2 targets have still to be given back: /shop/api: under way; /shop/web: under way", false},
		{"a write that fails", []workload.Ref{web, api}, func(t *counts) { t.failures[web] = "no" },
			"being deleted: 2 targets have still to be given back: /shop/api: under way; /shop/web: no", true},
		{"a write that waits", []workload.Ref{web}, func(t *counts) { t.waiting[web] = "waits for its batch" },
			"being deleted: 1 target has still to be given back: /shop/web: waits for its batch", true},
		{"something else", nil, func(t *counts) { t.delayed = "the adapter ovens is not ready" }, "being deleted: the adapter ovens is not ready",
			true},
		{"nothing", nil, func(*counts) {}, "being deleted: everything is given back", false},
	} {
		p := &world.Policy{Policy: decide.Policy{Policy: &policy.Policy{ID: policyID}, Deleting: true}}
		v := &view{policy: p, counts: *newCounts(), now: time.Unix(1e9, 0)}
		test.tell(&v.counts)
		v.restore(test.remaining)
		r := &noted{}
		s := &Writer{recorder: r}
		var cur v1alpha1.PolicyStatus
		v.fillConditions(&cur)
		s.announce(nil, v, &v1alpha1.PolicyStatus{}, &cur)
		s.announce(nil, v, &cur, &cur) // nothing has changed
		told := ""
		if test.event {
			told = test.message
		}
		if got := strings.Join(r.notes, "|"); v.state.Message != test.message || got != told {
			t.Errorf("%s: %q, want %q; told %q", test.reason, v.state.Message, test.message, got)
		}
	}
}
