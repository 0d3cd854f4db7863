package freeze_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
)

const onParty = `
kind: ChangeFreeze
metadata: {name: party, namespace: shop, generation: 1}
spec: {deny: [RollOut], calendars: [{name: party, effect: Frozen}]}
`

// lives compiles a freeze anew at each noon from June 8 to 14, as after restarts, and writes the status. In the result,
// F is a frozen day, and K a day of a kept denial beyond the calendars, or within guardAhead. The calendars, and the freeze
// if edit is not empty, change at an instant.
func lives(t *testing.T, text, edit string, change time.Time, before, after func(*freeze.Context)) (letters string) {
	t.Helper()
	obj := parse(t, text).(policy.Object)
	for now := at("2026-06-08T12:00:00Z"); now.Before(at("2026-06-15T00:00:00Z")); now = now.AddDate(0, 0, 1) {
		ctx := testContext
		if before(&ctx); !now.Before(change) {
			after(&ctx)
			if edit != "" {
				edited := parse(t, edit).(policy.Object)
				freeze.StatusOf(edited).Announced, edit, obj = freeze.StatusOf(obj).Announced, "", edited
			}
		}
		rule, _, errs := freeze.CompileObject(obj, ctx)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		active, _, _ := rule.Active(now)
		letter, state := "-", rule.Policy().State(now)
		switch {
		case rule.KeepsMore(now):
			letter = "K"
		case active:
			letter = "F"
		}
		if says := strings.Contains(state.Message, "its Calendars have changed since"); says != (letter == "K") {
			t.Errorf("at %s it says: %s", now, state.Message)
		}
		rule.Policy().Reporter.FillStatus(obj, now, state, nil)
		letters += letter
	}
	return letters
}

// A freeze of one namespace keeps the announced denial when the Calendar changes, from guardAhead before the denial
// until its end. Added days count at once. A Cluster freeze guards its Calendars instead, and an edit of the freeze takes up the
// present days.
func TestAFreezeOfOneNamespaceKeepsItsDenial(t *testing.T) {
	on := func(dates ...string) func(*freeze.Context) {
		return func(ctx *freeze.Context) {
			ctx.Calendars = func(string) (timeline.Timeline, bool) { return days(t, dates...), true }
		}
	}
	missing := func(ctx *freeze.Context) {
		ctx.Calendars = func(string) (timeline.Timeline, bool) { return timeline.Timeline{}, false }
	}
	lost := func(ctx *freeze.Context) {
		missing(ctx)
		ctx.Lost = times.Whole
	}
	cluster := edited(onParty, "ChangeFreeze", "ClusterChangeFreeze", ", namespace: shop", "", "deny:", "target: {namespaces: [shop]}, deny:")
	open := edited(onParty, "deny:", `windows: [{days: [Wed, Thu], from: "00:00", to: "24:00"}], deny:`, "effect: Frozen", "effect: Open")
	window := edited(open, "ChangeFreeze", "MaintenanceWindow", "days: [Wed, Thu]", "days: [Mon, Tue, Fri, Sat, Sun]")
	for _, test := range []struct {
		reason, text, edit, change string
		before, after              func(*freeze.Context)
		want                       string
	}{
		{"no change", onParty, "", "2026-06-08T00:00:00Z", on("2026-06-10"), on("2026-06-10"), "--F----"},
		{"a day moves long before", onParty, "", "2026-06-08T00:00:00Z", on("2026-06-10"), on("2026-06-11"), "---F---"},
		{"a day moves within guardAhead", onParty, "", "2026-06-09T12:00:00Z", on("2026-06-10"), on("2026-06-12"), "-KK-F--"},
		{"guardAhead is shorter", edited(onParty, "deny:", "guardAhead: 1h, deny:"), "", "2026-06-09T12:00:00Z", on("2026-06-10"),
			on("2026-06-12"), "----F--"},
		{"a day goes while it is frozen", onParty, "", "2026-06-10T12:00:00Z", on("2026-06-10", "2026-06-11"), on(), "--KK---"},
		{"the Calendar is deleted", onParty, "", "2026-06-10T12:00:00Z", on("2026-06-10", "2026-06-11"), missing, "--KK---"},
		{"the Calendar cannot be read", onParty, "", "2026-06-11T12:00:00Z", on("2026-06-10"), lost, "--FFFFF"},
		{"a day is added", onParty, "", "2026-06-10T12:00:00Z", on("2026-06-10"), on("2026-06-10", "2026-06-11"), "--FF---"},
		{"a Calendar that opens", open, "", "2026-06-10T12:00:00Z", on(), on("2026-06-11"), "--KK---"},
		{"a Calendar that opens, by a name that was free", open, "", "2026-06-10T12:00:00Z", missing, on("2026-06-11"), "--KK---"},
		{"a maintenance window", window, "", "2026-06-10T12:00:00Z", on(), on("2026-06-11"), "--KK---"},
		{"a Cluster freeze", cluster, "", "2026-06-10T12:00:00Z", on("2026-06-10", "2026-06-11"), on(), "-------"},
		{"an edit of the freeze", onParty, edited(onParty, "generation: 1", "generation: 2"), "2026-06-10T12:00:00Z",
			on("2026-06-10", "2026-06-11"), on(), "-------"},
	} {
		if diff := cmp.Diff(test.want, lives(t, test.text, test.edit, at(test.change), test.before, test.after)); diff != "" {
			t.Errorf("%s:\n%s", test.reason, diff)
		}
	}
}

// A denial without an end is kept without an end. A freeze without calendars announces none.
func TestAnnouncedDenials(t *testing.T) {
	ctx := testContext
	ctx.Calendars = func(string) (timeline.Timeline, bool) { return timeline.Timeline{}, true }
	for _, test := range []struct{ reason, windows, calendars, want string }{
		{"for ever", `[{from: "00:00", to: "24:00"}]`, `[{name: party, effect: Open}]`, " to "},
		{"never again", `[{start: "2026-01-01", end: "2026-01-02"}]`, `[{name: party, effect: Open}]`, ""},
		{"the next", `[{start: "2026-07-01", end: "2026-07-02"}]`, `[{name: party, effect: Open}]`,
			"2026-07-01T00:00:00Z to 2026-07-03T00:00:00Z"},
		{"no calendars", `[{start: "2026-07-01", end: "2026-07-02"}]`, `[]`, ""},
	} {
		obj := parse(t, edited(onParty, "calendars: [{name: party, effect: Frozen}]",
			"windows: "+test.windows+", calendars: "+test.calendars)).(*v1alpha1.ChangeFreeze)
		got := ""
		for range 2 { // the second time with the status
			rule, _, errs := freeze.CompileObject(obj, ctx)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			got = ""
			if obj.Status.Announced = rule.Announced(at("2026-06-10T12:00:00Z")); obj.Status.Announced != nil {
				instants := make([]string, 2)
				for i, at := range []metav1.Time{obj.Status.Announced.StartTime, obj.Status.Announced.EndTime} {
					if !at.IsZero() {
						instants[i] = at.UTC().Format(time.RFC3339)
					}
				}
				got = strings.Join(instants, " to ")
			}
			if got != test.want {
				t.Errorf("%s: %q", test.reason, got)
			}
		}
	}
}
