package page_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/timeline"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// changesOfClocks returns the two instants in 2037 at which the clocks of a time zone change.
func changesOfClocks(z *time.Location) (all []time.Time) {
	for at := time.Date(2037, 1, 1, 0, 0, 0, 0, z); len(all) < 2; {
		_, at = at.ZoneBounds()
		all = append(all, at)
	}
	return all
}

// planned is the number of replicas from an instant on.
type planned struct {
	At       time.Time
	Replicas string
}

// TestBarsAreThePlan compares the bars of the week with the changes of replicas that plan -o json lists. It does so
// over both clock changes of a year, in the time zone of the policies and in two other time zones. In one of these
// zones the clocks change by half an hour.
func TestBarsAreThePlan(t *testing.T) {
	compared := 0
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		z := zone(t, name)
		for _, change := range changesOfClocks(z) {
			from := timeline.Midnight(change, -3, z)
			to := from.AddDate(0, 0, 7)
			t.Run(name+" "+from.Format(time.DateOnly), func(t *testing.T) {
				w := demo(t)
				p, err := plan.Make(t.Context(), w, plan.Input{From: from, To: to, Zone: z})
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(p)
				if err != nil {
					t.Fatal(err)
				}
				k, err := page.WeekOf(t.Context(), w, page.WeekOptions{From: from, To: to, Zone: z})
				if err != nil {
					t.Fatal(err)
				}
				compared += compare(t, k, text)
				if len(k.Clocks) != 1 || !k.Clocks[0].At.Equal(change) {
					t.Errorf("clocks %+v, want one at %s", k.Clocks, change)
				}
				if len(k.Days) != 7 {
					t.Errorf("%d days", len(k.Days))
				}
			})
		}
	}
	if compared < 6*50 {
		t.Errorf("only %d bars were compared", compared)
	}
}

// compare compares the bars of each row that has replicas with the changes of a plan. It returns the number of bars.
func compare(t *testing.T, k *page.Week, text []byte) (bars int) {
	t.Helper()
	want := map[string][]planned{}
	for _, c := range rawjson.GetBytes(text, "changes").Array() {
		if c.Get("field").Str == "/spec/replicas" {
			at, err := time.Parse(time.RFC3339, c.Get("at").Str)
			if err != nil {
				t.Fatal(err)
			}
			if !at.Before(k.To) {
				continue // a plan includes its end, but a bar at the end has no width
			}
			target := c.Get("target").Str
			want[target] = append(want[target], planned{at.UTC(), c.Get("to").Str})
		}
	}
	seen := 0
	for _, g := range k.Groups {
		for _, r := range g.Rows {
			if want[r.Target] == nil {
				continue
			}
			seen++
			var got []planned
			for i, b := range r.Bars {
				if i > 0 && !b.From.Equal(r.Bars[i-1].To) {
					t.Errorf("%s: a gap before %s", r.Target, b.From)
				}
				replicas, err := json.Marshal(b.Replicas)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, planned{b.From.UTC(), string(replicas)})
			}
			if got[0].At.Equal(k.From) && !want[r.Target][0].At.Equal(k.From) {
				got = got[1:] // the first bar is the state at the beginning, and not a change
			}
			bars += len(got)
			if diff := cmp.Diff(want[r.Target], got); diff != "" {
				t.Errorf("%s: changes of the plan (-) and bars (+):\n%s", r.Target, diff)
			}
			if last := r.Bars[len(r.Bars)-1]; !last.To.Equal(k.To) {
				t.Errorf("%s: the last bar ends at %s", r.Target, last.To)
			}
		}
	}
	if seen != len(want) || seen == 0 {
		t.Errorf("%d targets with changes of replicas have a row, want %d", seen, len(want))
	}
	return bars
}

// TestTextsOfClockChanges checks the texts of clock changes: an hour that is skipped, an hour that is repeated, and
// a change by half
// an hour.
func TestTextsOfClockChanges(t *testing.T) {
	for name, want := range map[string][]string{
		"Europe/Berlin": {"the clock goes from 02:00 to 03:00: the time between is skipped",
			"the clock goes back from 03:00 to 02:00: the time from 02:00 to 03:00 comes twice"},
		"Australia/Lord_Howe": {"the clock goes back from 02:00 to 01:30: the time from 01:30 to 02:00 comes twice",
			"the clock goes from 02:00 to 02:30: the time between is skipped"},
	} {
		z := zone(t, name)
		for i, change := range changesOfClocks(z) {
			k, err := page.WeekOf(t.Context(), &source.World{}, page.WeekOptions{From: change.Add(-time.Hour), To: change.Add(time.Hour), Zone: z})
			if err != nil {
				t.Fatal(err)
			}
			if len(k.Clocks) != 1 || k.Clocks[0].Text != want[i] {
				t.Errorf("%s: %+v, want %q", name, k.Clocks, want[i])
			}
		}
	}
}

// TestPastIsShownAsFarAsTheLedger checks that the time before now is shown as far as the ledger records it, and that
// a target without a ledger
// has no past.
func TestPastIsShownAsFarAsTheLedger(t *testing.T) {
	z := zone(t, "Europe/Berlin")
	w := demo(t)
	night := time.Date(2037, 5, 13, 23, 0, 0, 0, z)
	memory, err := w.Memory()
	if err != nil {
		t.Fatal(err)
	}
	before, err := plan.Make(t.Context(), w, plan.Input{From: night.Add(-12 * time.Hour), To: night, Zone: z})
	if err != nil {
		t.Fatal(err)
	}
	if before.Writes == 0 {
		t.Fatal("nothing is put to sleep")
	}
	asleep := asleepAt(t, w, night.Add(-12*time.Hour), night)
	k, err := page.WeekOf(t.Context(), asleep, page.WeekOptions{From: timeline.Midnight(night, 0, z), To: night.AddDate(0, 0, 2),
		Now: night, Zone: z})
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, g := range k.Groups {
		for _, r := range g.Rows {
			if r.Bars[0].State != page.Unknown || !r.Bars[0].Past {
				t.Errorf("%s begins as %s", r.Target, r.Bars[0].State)
			}
			if b := r.Bars[1]; b.Past {
				known++
				if b.State != page.Asleep && b.State != page.Reduced && b.State != page.Set || !b.To.Equal(night) {
					t.Errorf("%s: %+v is taken as past", r.Target, b)
				}
			}
		}
	}
	if known == 0 {
		t.Errorf("no ledger gives a past, of %d policies", memory.PolicyCount())
	}
}

// TestSummaryCountsTargetsOfAGroup checks that the bar of a folded group counts each target of the group at each
// instant.
func TestSummaryCountsTargetsOfAGroup(t *testing.T) {
	from := time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)
	k, err := page.WeekOf(t.Context(), demo(t), page.WeekOptions{From: from, To: from.AddDate(0, 0, 7), Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	mixed := 0
	for _, g := range k.Groups {
		for _, b := range g.Summary {
			states := map[page.BarState]bool{}
			for _, r := range g.Rows {
				i := slices.IndexFunc(r.Bars, func(o page.Bar) bool { return !o.From.After(b.From) && o.To.After(b.From) })
				states[r.Bars[i].State] = true
			}
			if (len(states) > 1) != (b.State == page.Mixed) || len(states) == 1 && !states[b.State] {
				t.Errorf("%v at %s: %s (%s), and the targets are %v", g.Policies, b.From, b.State, b.Text, states)
			}
			if b.State == page.Mixed {
				mixed++
			}
		}
	}
	if mixed == 0 {
		t.Error("no group has targets in several states")
	}
}

// TestEmptyPictureGivesItsReason checks that a picture without rows says why it has none.
func TestEmptyPictureGivesItsReason(t *testing.T) {
	from := time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)
	without := demo(t)
	without.Policies = nil
	bare := demo(t)
	bare.Objects = nil
	bare.Policies = slices.DeleteFunc(bare.Policies,
		func(p policyObject) bool { return p.GetObjectKind().GroupVersionKind().Kind != "Schedule" })
	for want, w := range map[string]*source.World{"There are no policies here.": without, "There are policies, but no objects": bare} {
		k, err := page.WeekOf(t.Context(), w, page.WeekOptions{From: from, To: from.AddDate(0, 0, 7), Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		if len(k.Groups) > 0 || !startsWith(k.Empty, want) {
			t.Errorf("%d groups, %q, want %q", len(k.Groups), k.Empty, want)
		}
	}
}

// TestFilterSumsUpTheRowsThatAreLeft checks that the numbers beside a filtered week are those of its rows.
func TestFilterSumsUpTheRowsThatAreLeft(t *testing.T) {
	from := time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)
	whole, err := page.WeekOf(t.Context(), demo(t), page.WeekOptions{From: from, To: from.AddDate(0, 0, 7), Now: from, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	var sum plan.Totals
	for _, g := range whole.Groups {
		for _, r := range g.Rows {
			one := whole.Filter(r.Kind + "/" + r.Name)
			if got := one.Totals.Targets; got != rows(one) {
				t.Errorf("%s: %d targets in %d rows", r.Target, got, rows(one))
			}
		}
		if only := whole.Filter(g.Policies[0]); len(only.Groups) == 1 {
			sum.Add(only.Totals)
			if only.Totals != g.Totals {
				t.Errorf("%v: %v, want %v", g.Policies, only.Totals, g.Totals)
			}
		}
	}
	if sum.ReplicaHoursSaved == 0 {
		t.Error("no group saves anything")
	}
}

func rows(w *page.Week) (n int) {
	for _, g := range w.Groups {
		n += len(g.Rows)
	}
	return n
}
