package status

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// noted keeps the notes of events.
type noted struct {
	events.EventRecorder
	notes []string
}

func (n *noted) Eventf(_, _ runtime.Object, _, _, _, note string, args ...any) {
	n.notes = append(n.notes, fmt.Sprintf(note, args...))
}

// The event waits until the enforcement of the freeze was checked, and includes the result.
func TestAFreezeIsAnnouncedWithItsEnforcement(t *testing.T) {
	for _, test := range []struct{ unenforced, want string }{
		{"", "changes are denied; no targets"},
		{"the webhook configuration is missing", "changes are denied; not enforced: the webhook configuration is missing; no targets"},
	} {
		r := &noted{}
		s := &Writer{recorder: r, owed: map[workload.Policy]*announcement{}}
		v := &view{policy: &world.Policy{Policy: decide.Policy{Policy: &policy.Policy{ID: policyID}}}, counts: *newCounts(), judges: true,
			state: policy.Summary{Name: "Frozen", Active: "release", Message: "changes are denied"}}
		s.announceTransition(nil, v, v.transition(&v1alpha1.PolicyStatus{}, &v1alpha1.PolicyStatus{State: "Frozen"}, ""))
		if len(r.notes) != 0 {
			t.Fatalf("told before anything is known: %s", r.notes)
		}
		v.known, v.unenforced = true, test.unenforced
		s.announceTransition(nil, v, nil)
		if got := strings.Join(r.notes, "|"); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
