package tortoise

import (
	"strings"
	"testing"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// TestNoLimitOfOurOwn checks that requests have no maximum except the one that the spec gives.
func TestNoLimitOfOurOwn(t *testing.T) {
	const gib = 1 << 30
	own := tune.Requests{CPU: 20_000, Memory: 20 * gib}
	for spec, want := range map[string]tune.Requests{
		`{}`: {CPU: tune.Unbounded, Memory: tune.Unbounded},
		`{resources: [{container: app, max: {cpu: "2", memory: 2Gi}}]}`: {CPU: 2000, Memory: 2 * gib},
		`{resources: [{container: app, max: {cpu: "2"}}]}`:              {CPU: 2000, Memory: tune.Unbounded},
		`{resources: [{container: app, max: {memory: 2Gi}}]}`:           {CPU: tune.Unbounded, Memory: 2 * gib},
	} {
		m := learnerOf(t, spec)
		m.Own["app"] = own
		if got := m.limitsOf("app").Max; got != want {
			t.Errorf("%s: the most is %+v, want %+v", spec, got, want)
		}
	}
}

// TestLimitsOfTheOwnerThatStay checks that limits bound requests if they stay the same, in every profile. The reasons say
// so.
func TestLimitsOfTheOwnerThatStay(t *testing.T) {
	const gib = 1 << 30
	for _, profile := range []string{"Balanced", "Tortoise"} {
		m := learnerOf(t, `{profile: `+profile+`, vertical: {limits: Keep}, resources: [{container: app, max: {cpu: "4", memory: 1Gi}}]}`)
		m.Scaled, m.Limited = "app", map[string]tune.Requests{"app": {CPU: 2000, Memory: 2 * gib}}
		want := tune.Requests{CPU: 2000, Memory: gib}
		if got := m.limitsOf("app").Max; got != want {
			t.Errorf("%s: the most is %+v, want %+v", profile, got, want)
		}
		if got := m.original().Most["app"]; got != want {
			t.Errorf("%s: the formulas are told %+v, want %+v", profile, got, want)
		}
		if b := m.spec(policy.Seen{Replicas: 3}).Bounds; b.MaxRequest != 2000 || b.MaxBy != "its limit (spec.vertical.limits is Keep)" {
			t.Errorf("%s: %d by %s", profile, b.MaxRequest, b.MaxBy)
		}
		if got := m.reportContainer("app").Memory.Reason; !strings.HasSuffix(got, "; its limit stays 2Gi (vertical.limits is Keep)") {
			t.Errorf("%s: %s", profile, got)
		}
		if got := m.original().Most["big"]; got != (tune.Requests{}) {
			t.Errorf("%s: of a container without limits the formulas are told %+v", profile, got)
		}
	}
}
