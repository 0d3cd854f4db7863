package tortoise

import (
	"testing"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// TestAnOwnerAboveTheLimits: what was not given as a maximum makes no request smaller than its owner has it, and what was given does.
func TestAnOwnerAboveTheLimits(t *testing.T) {
	const gib = 1 << 30
	own := tune.Request{CPU: 20_000, Memory: 20 * gib}
	for spec, want := range map[string]tune.Request{
		`{}`: own,
		`{resources: [{container: app, max: {cpu: "2", memory: 2Gi}}]}`: {CPU: 2000, Memory: 2 * gib},
		`{resources: [{container: app, max: {cpu: "2"}}]}`:              {CPU: 2000, Memory: 20 * gib},
		`{resources: [{container: app, max: {memory: 2Gi}}]}`:           {CPU: 20_000, Memory: 2 * gib},
	} {
		m := mindOf(t, spec)
		m.Own["app"] = own
		if got := m.limitsOf("app").Max; got != want {
			t.Errorf("%s: the most is %+v, want %+v", spec, got, want)
		}
	}
}
