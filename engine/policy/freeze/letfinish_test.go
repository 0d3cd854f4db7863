package freeze_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// For the time letFinish after each start of denying, and not a second longer, actions that finish a roll-out pass. No
// other actions pass.
func TestLetFinish(t *testing.T) {
	frozen := edited(yearEnd, "enforcement: Deny", "letFinish: 30m")
	start := at("2026-12-20T00:00:00Z")
	recurring := "kind: ClusterChangeFreeze\nmetadata: {name: nights}\nspec: {target: {namespaceSelector: {}}, letFinish: 30m, " +
		"deny: [RollOut, Scale], windows: [{from: '22:00', to: '06:00'}, {days: [Sat], from: '05:50', to: '06:10'}]}"
	closing := edited(weekly, "deny:", "letFinish: 30m\n  deny:")
	for _, tc := range []struct {
		reason, freeze string
		now            time.Time
		asked, left    workload.Change
		until          string
	}{
		{"at the start", frozen, start, rollOut | scale, 0, "2026-12-20T00:30:00Z"},
		{"in the last second", frozen, start.Add(30*time.Minute - time.Second), rollOut, 0, "2026-12-20T00:30:00Z"},
		{"after it", frozen, start.Add(30 * time.Minute), rollOut, rollOut, ""},
		{"another action", frozen, start, rollOut | create, create, "2026-12-20T00:30:00Z"},
		{"without the field", yearEnd, start, rollOut, rollOut, ""},
		{"0s", edited(yearEnd, "enforcement: Deny", "letFinish: 0s"), start, rollOut, rollOut, ""},
		{"longer than the freeze", edited(yearEnd, "enforcement: Deny", "letFinish: 20d"), at("2027-01-02T23:59:59Z"), scale, 0,
			"2027-01-03T00:00:00Z"},
		{"at each start that recurs", recurring, at("2026-12-23T22:10:00Z"), scale, 0, "2026-12-23T22:30:00Z"},
		{"and not where one time goes over into another", recurring, at("2026-12-26T05:55:00Z"), scale, scale, ""},
		{"after the closing of a maintenance window", closing, at("2026-12-22T11:29:59Z"), rollOut, 0, "2026-12-22T11:30:00Z"},
		{"and not later", closing, at("2026-12-22T11:30:00Z"), rollOut, rollOut, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			req := change(tc.asked, func(r *freeze.UserChange) { r.Now, r.Finishing = tc.now, rollOut|scale })
			v := set(t, tc.freeze).Decide(req)
			var left workload.Change
			for _, d := range v.Denials {
				left |= d.Actions
			}
			if left != tc.left || v.Allowed != (tc.left == 0) {
				t.Errorf("denies %v, want %v: %s", left, tc.left, v.Message)
			}
			var until []string
			for _, f := range v.Finishes {
				until = append(until, f.Until.UTC().Format(time.RFC3339))
			}
			if got := strings.Join(until, " "); got != tc.until {
				t.Errorf("may finish until %q, want %q", got, tc.until)
			}
			req.Finishing = 0
			if v := set(t, tc.freeze).Decide(req); v.Allowed || len(v.Finishes) > 0 {
				t.Error("an edit passes that finishes nothing")
			}
		})
	}
}

// Each freeze lets roll-outs finish only by its own field. The next allowed instant does not take letFinish into account.
func TestLetFinishOfSeveralFreezes(t *testing.T) {
	one, other := edited(yearEnd, "enforcement: Deny", "letFinish: 30m"), edited(yearEnd, "year-end}", "other}")
	finishing := func(r *freeze.UserChange) { r.Now, r.Finishing = at("2026-12-20T00:10:00Z"), rollOut }
	v := set(t, one, other).Decide(change(rollOut, finishing))
	if v.Allowed || len(v.Denials) != 1 || v.Denials[0].Policy.Name != "other" || len(v.Finishes) != 1 {
		t.Errorf("%+v", v)
	}
	later := edited(one, "2027-01-03", "2027-01-09", "2026-12-20", "2027-01-03", "year-end}", "later}")
	if v = set(t, later, other).Decide(change(rollOut, finishing)); !v.NextAllowed.Equal(at("2027-01-09T00:00:00Z")) {
		t.Errorf("next allowed %s: %s", v.NextAllowed, v.Message)
	}
}

// A longer time to finish roll-outs weakens a freeze. The state has the end of this time.
func TestLongerTimeToFinishRollOutsWeakensAFreeze(t *testing.T) {
	short, long := edited(yearEnd, "enforcement: Deny", "letFinish: 30m"), edited(yearEnd, "enforcement: Deny", "letFinish: 1h")
	for _, tc := range []struct {
		old, edited string
		want        []string
	}{{yearEnd, short, []string{"spec.letFinish"}}, {short, long, []string{"spec.letFinish"}}, {long, short, nil}, {short, yearEnd, nil}} {
		got, err := freeze.Weakens(parse(t, tc.old), parse(t, tc.edited))
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%v, %v, want %v", got, err, tc.want)
		}
	}
	state := set(t, short).Rules()[0].Policy().State(at("2026-12-20T12:00:00Z"))
	if diff := cmp.Diff("changes are denied until 2027-01-03T01:00:00+01:00 (Europe/Berlin); "+
		"controllers may finish roll-outs until 2026-12-20T01:30:00+01:00 (Europe/Berlin)", state.Message); diff != "" {
		t.Error(diff)
	}
	_, _, errs := freeze.CompileObject(parse(t, edited(yearEnd, "enforcement: Deny", "letFinish: -1h")), testContext)
	if len(errs) != 1 || errs[0].Field != "spec.letFinish" {
		t.Error(errs)
	}
}
