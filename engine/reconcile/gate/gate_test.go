package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
)

// turnstile is a gate that records its calls in a list.
type turnstile struct {
	name string
	shut bool
	// after is the Wait of a write that leaves.
	after *Wait
	calls *[]string
}

func (g *turnstile) call(text string) { *g.calls = append(*g.calls, g.name+" "+text) }

func (g *turnstile) Enter(context.Context, *Write) *Wait {
	if g.shut {
		return &Wait{Outcome: status.Outcome{Waiting: g.name}}
	}
	g.call("entered")
	return nil
}

func (g *turnstile) Leave(_ *Write, end End) *Wait {
	g.call("left, " + string(end.Outcome))
	return g.after
}

func (g *turnstile) Withdraw(workload.Ref) { g.call("withdrawn") }
func (g *turnstile) Forget(workload.Ref)   { g.call("forgotten") }

// TestAWriteLeavesTheGatesThatItHasEntered: in reverse, whatever becomes of it, also when sending it panics. At the gates
// behind a closed one the target no longer waits.
func TestAWriteLeavesTheGatesThatItHasEntered(t *testing.T) {
	failure, ofGate := errors.New("no answer"), &Wait{Outcome: status.Outcome{Waiting: "at b"}, Err: ErrQueued}
	for _, tc := range []struct {
		name  string
		shut  string
		after *Wait
		end   End
		panic bool
		calls []string
		wait  *Wait
	}{
		{name: "applied", end: End{Outcome: apply.Applied},
			calls: []string{"a entered", "b entered", "c entered", "sent", "c left, applied", "b left, applied", "a left, applied"}},
		{name: "refused, and the gate b has it wait", end: End{apply.Refused, failure}, after: ofGate, wait: ofGate,
			calls: []string{"a entered", "b entered", "c entered", "sent", "c left, refused", "b left, refused", "a left, refused"}},
		{name: "not sent because of an error", end: End{Err: failure}, wait: &Wait{Outcome: status.Outcome{Failure: "no answer"}, Err: failure},
			calls: []string{"a entered", "b entered", "c entered", "sent", "c left, ", "b left, ", "a left, "}},
		{name: "the gate b is closed", shut: "b", wait: &Wait{Outcome: status.Outcome{Waiting: "b"}},
			calls: []string{"a entered", "a left, ", "c withdrawn"}},
		{name: "a panic", panic: true,
			calls: []string{"a entered", "b entered", "c entered", "sent", "c left, ", "b left, ", "a left, "}},
	} {
		var calls []string
		var c Chain
		for _, name := range []string{"a", "b", "c"} {
			g := &turnstile{name: name, shut: name == tc.shut, calls: &calls}
			if name == "b" {
				g.after = tc.after
			}
			c = append(c, g)
		}
		w := writeOf(webs(0), "7")
		var wait *Wait
		func() {
			defer func() {
				if r := recover(); (r != nil) != tc.panic {
					t.Errorf("%s: panic %v", tc.name, r)
				}
			}()
			defer c.Withdraw(w)
			_, wait = c.Pass(t.Context(), w, func(context.Context, *Write) End {
				calls = append(calls, "sent")
				if tc.panic {
					panic("a fault")
				}
				return tc.end
			})
		}()
		if !slices.Equal(calls, tc.calls) {
			t.Errorf("%s: %q, want %q", tc.name, calls, tc.calls)
		}
		if fmt.Sprint(wait) != fmt.Sprint(tc.wait) {
			t.Errorf("%s: waits %v, want %v", tc.name, wait, tc.wait)
		}
	}
}
