package trigger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/timeline"
)

// weeks has weeks in which the zone's clock changes, and one week in which it does not.
var weeks = []struct{ zone, sunday string }{
	{"America/New_York", "2026-03-08"}, {"America/New_York", "2026-11-01"},
	{"Europe/Berlin", "2026-03-29"}, {"Europe/Berlin", "2026-10-25"}, {"Europe/Berlin", "2026-06-14"},
}

// wanted is the expected regime in one minute.
type wanted struct {
	shown              string
	min, max, replicas int64 // -1: none
	since              time.Time
	begun              time.Time
}

// A week is simulated minute by minute, as seen by a process that never stops. The policy must give the same answer for
// each minute without earlier calls.
func TestAnswersDoNotDependOnEarlierCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		week := rapid.SampledFrom(weeks).Draw(t, "week")
		loc, err := timeline.LoadZone(week.zone)
		if err != nil {
			t.Fatal(err)
		}
		sunday, err := time.ParseInLocation(time.DateOnly, week.sunday, loc)
		if err != nil {
			t.Fatal(err)
		}
		spec := drawRules(t)
		spec.TimeZone = week.zone
		all, errs := compileTriggers(spec, nil, nil)
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		closed := newSet(all, spec.Overlap)
		sim := newSimulation(spec, loc, sunday.AddDate(0, 0, -13))
		for now := sim.start; now.Before(sunday.AddDate(0, 0, 3)); now = now.Add(time.Minute) {
			want := sim.step(now)
			if now.Before(sunday.AddDate(0, 0, -4)) {
				continue // until then, some window may not have been open yet
			}
			r := closed.at(now)
			got := wanted{strings.Trim(r.phase.String()+" "+r.active(), " "), number(r.min), number(r.max), number(r.replicas), r.since, r.begun}
			if got == want {
				continue
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(wanted{})); diff != "" {
				t.Fatalf("at %s (-run through +asked):\n%s\n%s", now.In(loc), diff, text(spec))
			}
		}
	})
}

// The next transition in the status is compared with the regime in every minute until this transition.
func TestNextIsTheNextChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawRules(t)
		p, errs := Compile(object(spec), Context{})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		now := monday.Add(time.Duration(rapid.IntRange(0, 7*24*60).Draw(t, "minute")) * time.Minute)
		next := p.State(now).Next
		limit := now.AddDate(0, 0, 8)
		if !next.IsZero() && next.Before(limit) {
			if cur := inForce(p, next); cur == inForce(p, now) {
				t.Fatalf("at %s the next transition is %s, and nothing changes then: %s", now, next, cur)
			}
			limit = next
		}
		for at := now; at.Before(limit); at = at.Add(time.Minute) {
			if cur := inForce(p, at); cur != inForce(p, now) {
				t.Fatalf("at %s the next transition is %s, but at %s it changes from %s to %s", now, next, at, inForce(p, now), cur)
			}
		}
	})
}

// inForce returns the message of a state without its transitions.
func inForce(p *policy.Policy, at time.Time) string {
	s := p.State(at)
	head, rest, _ := strings.Cut(s.Message, " since ")
	_, rest, _ = strings.Cut(rest, ",")
	rest, _, _ = strings.Cut(rest, ", next transition")
	return s.Name + head + rest
}

// The answer is the same after the list of triggers was shuffled.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawRules(t)
		shuffled := spec
		shuffled.Triggers = rapid.Permutation(spec.Triggers).Draw(t, "order")
		now := monday.Add(time.Duration(rapid.IntRange(0, 7*24*60).Draw(t, "minute")) * time.Minute)
		var got [2]regime
		for i, s := range []v1alpha1.TriggerRules{spec, shuffled} {
			all, errs := compileTriggers(s, nil, nil)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			got[i] = newSet(all, s.Overlap).at(now)
		}
		if diff := cmp.Diff(got[0], got[1], cmp.AllowUnexported(regime{})); diff != "" {
			t.Fatalf("another order, another answer:\n%s", diff)
		}
	})
}

// drawRules draws few triggers with few transitions and priorities, so that windows touch, overlap and end together.
func drawRules(t *rapid.T) v1alpha1.TriggerRules {
	clock := rapid.SampledFrom([]string{"00:00", "01:30", "02:00", "02:30", "03:00", "08:00", "12:00", "20:00"})
	day := rapid.SampledFrom([]v1alpha1.Day{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"})
	some := rapid.Custom(func(t *rapid.T) v1alpha1.TriggerValues {
		var v v1alpha1.TriggerValues
		if rapid.Bool().Draw(t, "sized") {
			v.Replicas = n(rapid.Int64Range(0, 3).Draw(t, "replicas"))
		}
		if v.Replicas == nil || rapid.Bool().Draw(t, "bounded") {
			v.Min = n(rapid.Int64Range(0, 3).Draw(t, "min"))
			v.Max = n(*v.Min + rapid.Int64Range(0, 3).Draw(t, "span"))
		}
		return v
	})
	one := rapid.Custom(func(t *rapid.T) v1alpha1.TimeTrigger {
		tr := v1alpha1.TimeTrigger{Priority: rapid.Int32Range(0, 2).Draw(t, "priority"), During: some.Draw(t, "during")}
		tr.Window.Days = rapid.SliceOfNDistinct(day, 0, 3, rapid.ID).Draw(t, "days")
		tr.Window.From = clock.Draw(t, "from")
		tr.Window.To = clock.Filter(func(to string) bool { return to != tr.Window.From }).Draw(t, "to")
		tr.Suspend = rapid.IntRange(0, 5).Draw(t, "suspended") == 0
		if rapid.Bool().Draw(t, "ends with values") {
			v := some.Draw(t, "after")
			tr.After = &v
		}
		return tr
	})
	r := v1alpha1.TriggerRules{Overlap: rapid.SampledFrom([]v1alpha1.Overlap{v1alpha1.OverlapPriority, v1alpha1.OverlapHighest}).Draw(t,
		"overlap")}
	r.Triggers = rapid.SliceOfN(one, 1, 4).Draw(t, "triggers")
	for i := range r.Triggers {
		r.Triggers[i].Name = string(rune('a' + i))
	}
	return r
}

// simulation steps through the minutes and remembers the past.
type simulation struct {
	rules v1alpha1.TriggerRules
	start time.Time
	// open has, for each minute since the day before the start, whether each trigger's window is open.
	open [][]bool
	// last are the triggers whose after values hold once no window is open.
	last []int
	// decided has the triggers that have decided the size in their present window. deciding has the triggers that decide it
	// now, with the start of this; zero: resumed.
	decided  map[int]bool
	deciding map[int]time.Time
	before   wanted
}

func newSimulation(rules v1alpha1.TriggerRules, loc *time.Location, start time.Time) *simulation {
	s := &simulation{rules: rules, start: start, decided: map[int]bool{}, deciding: map[int]time.Time{}}
	for _, tr := range rules.Triggers {
		minutes := make([]bool, 20*24*60)
		for d := start.AddDate(0, 0, -2); d.Before(start.AddDate(0, 0, 18)) && !tr.Suspend; d = d.AddDate(0, 0, 1) {
			if len(tr.Window.Days) > 0 && !slices.Contains(tr.Window.Days, v1alpha1.Day(d.Weekday().String()[:3])) {
				continue
			}
			end := d
			if tr.Window.To <= tr.Window.From {
				end = d.AddDate(0, 0, 1)
			}
			first, last := s.minute(transition(d, tr.Window.From, loc)), s.minute(transition(end, tr.Window.To, loc))
			for m := max(first, 0); m < last && m < len(minutes); m++ {
				minutes[m] = true
			}
		}
		s.open = append(s.open, minutes)
	}
	return s
}

func (s *simulation) minute(at time.Time) int {
	return int(at.Sub(s.start.Add(-24*time.Hour)) / time.Minute)
}

// transition returns the first minute in which the zone's clock shows the reading or a later one.
func transition(day time.Time, clock string, loc *time.Location) time.Time {
	const layout = "2006-01-02 15:04"
	reading := day.Format(time.DateOnly) + " " + clock
	naive, err := time.Parse(layout, reading)
	if err != nil {
		panic(err)
	}
	_, offset := naive.In(loc).Zone()
	m := naive.Add(-time.Duration(offset)*time.Second - 2*time.Hour)
	for m.In(loc).Format(layout) < reading {
		m = m.Add(time.Minute)
	}
	return m
}

// step advances to the next minute.
func (s *simulation) step(now time.Time) wanted {
	now = now.UTC()
	minute := s.minute(now)
	var open, ended []int
	started := false
	for i := range s.open {
		is, was := s.open[i][minute], s.open[i][minute-1]
		started = started || is && !was
		if is {
			open = append(open, i)
		}
		if was && !is {
			delete(s.decided, i)
			if s.rules.Triggers[i].After != nil {
				ended = append(ended, i)
			}
		}
	}
	switch {
	case started:
		s.last = nil
	case len(ended) > 0:
		s.last = ended
	}
	w := wanted{min: -1, max: -1, replicas: -1}
	counting, name, after := open, "Active", false
	if len(open) == 0 {
		counting, name, after = s.last, "After", true
	}
	counting = s.counting(counting)
	var names []string
	for _, i := range counting {
		tr := s.rules.Triggers[i]
		v := tr.During
		if after {
			v = *tr.After
		}
		names = append(names, tr.Name)
		w.min, w.max, w.replicas = max(w.min, number(v.Min)), max(w.max, number(v.Max)), max(w.replicas, number(v.Replicas))
	}
	if w.max >= 0 {
		w.max = max(w.max, w.min)
	}
	slices.Sort(names)
	w.shown = "Idle"
	if len(names) > 0 {
		w.shown = name + " " + strings.Join(names, ",")
	}
	s.timing(&w, now, open, counting, after)
	s.before = w
	return w
}

func (s *simulation) counting(list []int) []int {
	var out []int
	for _, i := range list {
		lower := func(j int) bool { return s.rules.Triggers[j].Priority > s.rules.Triggers[i].Priority }
		if s.rules.Overlap == v1alpha1.OverlapHighest || !slices.ContainsFunc(list, lower) {
			out = append(out, i)
		}
	}
	return out
}

// timing fills in the start of the regime and of its size.
func (s *simulation) timing(w *wanted, now time.Time, open, counting []int, after bool) {
	phase := func(x wanted) string { return strings.Fields(x.shown + " ")[0] }
	w.since = s.before.since
	if after && w.replicas >= 0 {
		defer func() { w.begun = w.since }()
	}
	switch closed := len(open) == 0; {
	case s.before.shown == "":
	case closed && phase(s.before) == "Active", w.shown != s.before.shown:
		w.since = now
	}
	deciding := map[int]time.Time{}
	for _, i := range counting {
		v := s.rules.Triggers[i].During
		if after || v.Replicas == nil || *v.Replicas != w.replicas {
			continue
		}
		begun, was := s.deciding[i]
		switch {
		case was:
		case s.decided[i]:
			begun = time.Time{}
		default:
			begun = now
		}
		deciding[i], s.decided[i] = begun, true
		w.begun = timeline.Later(w.begun, begun)
	}
	s.deciding = deciding
}

func number(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

func text(r v1alpha1.TriggerRules) string {
	out := string(r.Overlap)
	for _, t := range r.Triggers {
		out += fmt.Sprintf("\n%s prio %d %v %s-%s suspend %t during %s", t.Name, t.Priority, t.Window.Days, t.Window.From, t.Window.To, t.Suspend,
			valuesText(&t.During))
		if t.After != nil {
			out += " after " + valuesText(t.After)
		}
	}
	return out
}

func valuesText(v *v1alpha1.TriggerValues) string {
	return fmt.Sprintf("%d-%d %d", number(v.Min), number(v.Max), number(v.Replicas))
}
