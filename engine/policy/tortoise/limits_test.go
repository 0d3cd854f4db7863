package tortoise

import (
	"testing"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// TestNoLimitOfOurOwn: what was not given as a maximum bounds nothing, however large, and what was given does.
func TestNoLimitOfOurOwn(t *testing.T) {
	const gib = 1 << 30
	own := tune.Request{CPU: 20_000, Memory: 20 * gib}
	for spec, want := range map[string]tune.Request{
		`{}`: {CPU: tune.Unbounded, Memory: tune.Unbounded},
		`{resources: [{container: app, max: {cpu: "2", memory: 2Gi}}]}`: {CPU: 2000, Memory: 2 * gib},
		`{resources: [{container: app, max: {cpu: "2"}}]}`:              {CPU: 2000, Memory: tune.Unbounded},
		`{resources: [{container: app, max: {memory: 2Gi}}]}`:           {CPU: tune.Unbounded, Memory: 2 * gib},
	} {
		m := mindOf(t, spec)
		m.Own["app"] = own
		if got := m.limitsOf("app").Max; got != want {
			t.Errorf("%s: the most is %+v, want %+v", spec, got, want)
		}
	}
}
