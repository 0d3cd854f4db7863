package page_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

type policyObject = policy.Object

func startsWith(text, want string) bool { return want != "" && strings.HasPrefix(text, want) }

// asleepAt returns the world at an instant. It simulates the writes of the policies from the instant from until then.
func asleepAt(t *testing.T, w *source.World, from, at time.Time) *source.World {
	t.Helper()
	memory, err := w.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decide.Simulate(memory, from, at); err != nil {
		t.Fatal(err)
	}
	next := *w
	next.Objects = nil
	memory.EachObject(func(ref workload.Ref) { next.Objects = append(next.Objects, memory.Raw(ref)) })
	return &next
}
