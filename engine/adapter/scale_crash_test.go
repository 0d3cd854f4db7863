package adapter

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// play carries out a plan like the engine, and stops after a number of writes, as if the process ended. The write to
// /scale behind a patch counts as a write of its own. play returns the number of writes, and calls after() following
// each write.
func (s *server) play(t testing.TB, a *Adapter, plan workload.Plan, writes int, after func()) (made int) {
	t.Helper()
	for range 8 {
		r := rendered(t, a, s.doc, plan)
		if r.Patch == nil {
			return made
		}
		for p := r.Patch; p != nil; p = p.Next {
			if made == writes {
				return made
			}
			if err := s.apply(p); err != nil {
				t.Fatal(err)
			}
			made++
			after()
		}
	}
	t.Fatalf("there is always something to write: %s", s.doc)
	return made
}

// everything is a number of writes that no plan exceeds.
const everything = 99

func unwatched() {}

// TestACrashBetweenTheWrites begins a change of a count behind /scale, and loses it after every number of writes. Then
// the manager continues with the same claim, the one before, another one, or none.
func TestACrashBetweenTheWrites(t *testing.T) {
	const awake = "awake"
	later := monday.Add(time.Hour)
	other := at(size(workload.SizeAtMost, 1), later)
	other.Size.By = peaks
	claims := map[string]workload.Plan{
		awake: {}, "asleep": sleep(), "at most 2": size(workload.SizeAtMost, 2), "asleep later": at(sleep(), later),
		"the size it has": size(workload.SizeExactly, 3), "another policy, at most 1": other,
	}
	changes := []struct {
		from, to string
		// writes is how many it takes.
		writes int
	}{
		{awake, "asleep", 3}, {"asleep", awake, 3}, {"asleep", "at most 2", 3}, {"at most 2", "asleep", 3}, {"at most 2", awake, 3},
		{"asleep", "the size it has", 3}, {"asleep", "another policy, at most 1", 3}, {"another policy, at most 1", "asleep", 3},
	}
	a := mustCompile(t, scaledYAML, Keys{})
	for _, change := range changes {
		for lost := range change.writes + 1 {
			for name, back := range claims {
				t.Run(fmt.Sprintf("from %s to %s, %d writes made, back to %s", change.from, change.to, lost, name), func(t *testing.T) {
					s := newServer(object(`{"replicas":3}`))
					s.play(t, a, claims[change.from], everything, unwatched)
					probe := newServer(s.doc)
					if n := probe.play(t, a, claims[change.to], everything, unwatched); n != change.writes {
						t.Fatalf("it takes %d writes, want %d", n, change.writes)
					}
					s.play(t, a, claims[change.to], lost, unwatched)
					s.expect(t, a, back)
					s.expect(t, a, sleep())
					s.expect(t, a, workload.Plan{})
				})
			}
		}
	}
}

// expect settles a plan for an object with three replicas of its owner. It checks the count, and that no change counts
// as a foreign one.
func (s *server) expect(t *testing.T, a *Adapter, plan workload.Plan) {
	t.Helper()
	if c := a.Observe(projected(t, a, s.doc)).Components; len(c) != 1 || c[0].Replicas != 3 {
		t.Errorf("policies see %v", c)
	}
	s.play(t, a, plan, everything, unwatched)
	want := int64(3)
	if plan.Size != nil {
		want = plan.Size.Value.Of(workload.Component{Replicas: 3})
	}
	if got := fmt.Sprintf(`{"replicas":%d}`, want); !path.Equal(got, s.spec()) {
		t.Errorf("got %s, want %s", s.spec(), got)
	}
	l := s.ledger(t, a)
	if want == 3 && len(l) > 0 || want != 3 && (len(l) != 1 || l[0].Was != "3" || l[0].Pending || l[0].Prior != "") {
		t.Errorf("at %d the ledger is %v", want, l)
	}
	if r := rendered(t, a, s.doc, plan); r.State == workload.StateOverridden {
		t.Errorf("taken for somebody else's: %s", r.Message)
	}
}

// TestAManualChangeBetweenTheWrites: a person scales the object while the manager is gone, and that count is the
// owner's.
func TestAManualChangeBetweenTheWrites(t *testing.T) {
	a := mustCompile(t, scaledYAML, Keys{})
	resize := size(workload.SizeAtMost, 2)
	for _, change := range []struct {
		name     string
		from, to workload.Plan
	}{{"asleep", workload.Plan{}, sleep()}, {"awake", sleep(), workload.Plan{}}, {"resized", sleep(), resize}} {
		for lost := range 4 {
			for name, back := range map[string]workload.Plan{"the same": change.to, "the one before": change.from, "none": {}} {
				t.Run(fmt.Sprintf("to %s, %d writes made, back to %s", change.name, lost, name), func(t *testing.T) {
					s := newServer(object(`{"replicas":3}`))
					s.play(t, a, change.from, everything, unwatched)
					s.play(t, a, change.to, lost, unwatched)
					s.set("/spec/replicas", "7")
					s.play(t, a, back, everything, unwatched)
					s.play(t, a, workload.Plan{}, everything, unwatched)
					if want := `{"replicas":7}`; !path.Equal(want, s.spec()) || len(s.ledger(t, a)) > 0 {
						t.Errorf("got %s and the ledger %v, want %s and none", s.spec(), s.ledger(t, a), want)
					}
				})
			}
		}
	}
}

// TestSetOnceKeepsAnOriginalUntilItIsThrough ends the manager while a size that is set once takes over from sleep. The
// window is over when the manager is back.
func TestSetOnceKeepsAnOriginalUntilItIsThrough(t *testing.T) {
	a := mustCompile(t, scaledYAML, Keys{})
	for lost, wakesTo := range []string{`{"replicas":3}`, `{"replicas":3}`, `{"replicas":6}`, `{"replicas":6}`} {
		for name, between := range map[string]workload.Plan{"nothing": {}, "sleep": sleep(), "the window again": once(6, monday)} {
			want := wakesTo
			s := newServer(object(`{"replicas":3}`))
			s.play(t, a, sleep(), everything, unwatched)
			s.play(t, a, once(6, monday), lost, unwatched)
			s.play(t, a, between, everything, unwatched)
			s.play(t, a, workload.Plan{}, everything, unwatched)
			if name == "the window again" {
				want = `{"replicas":6}`
			}
			if !path.Equal(want, s.spec()) || len(s.ledger(t, a)) > 0 {
				t.Errorf("%d writes made, then %s: got %s and the ledger %v, want %s", lost, name, s.spec(), s.ledger(t, a), want)
			}
		}
	}
}

// TestScaleModel runs claims, crashes at any write and manual changes over a count behind /scale, beside a count that
// only its owner changes. Policies always see the owner's count. Without a manual change, no value counts as a manual
// change. When no claim is left, the count is the owner's.
func TestScaleModel(t *testing.T) {
	a := mustCompile(t, scaledYAML, Keys{})
	rapid.Check(t, func(r *rapid.T) {
		m := &scaleModel{T: r, tb: t, a: a, now: monday, owner: rapid.SampledFrom(ownCounts).Draw(r, "own")}
		m.server = newServer(object(`{"kept":true}`))
		if m.owner != "" {
			m.server.set("/spec/replicas", m.owner)
		}
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"another", "another", "back", "back", "the same"}).Draw(r, "claim") {
			case "another":
				m.claim()
			case "back":
				m.plan, m.before = m.before, m.plan
			}
			m.run(rapid.SampledFrom([]int{0, 1, 2, everything}).Draw(r, "writes"))
			m.checkObserved()
			if rapid.SampledFrom([]bool{false, false, true}).Draw(r, "edited") {
				m.edit()
				m.checkObserved()
			}
		}
		m.plan = workload.Plan{}
		m.run(everything)
		if m.count() != m.owner || len(m.server.ledger(t, a)) > 0 {
			r.Fatalf("when no claim is left the count is %q, the owner's is %q; ledger %v", m.count(), m.owner, m.server.ledger(t, a))
		}
	})
}

var ownCounts = []string{"", "0", "1", "3", "7"}

type scaleModel struct {
	*rapid.T
	tb     testing.TB
	a      *Adapter
	server *server
	// owner is the count as its owner would have it, empty for absent.
	owner string
	now   time.Time
	// plan is the present claim, and before the earlier one.
	plan, before workload.Plan
	// touched is the last transition before a manual change of the count; zero without its effect.
	touched time.Time
}

func (m *scaleModel) count() string { return m.server.value("/spec/replicas") }

// claim changes the claim while no manager runs.
func (m *scaleModel) claim() {
	m.before = m.plan
	if rapid.Bool().Draw(m.T, "next transition") {
		m.now = m.now.Add(time.Hour)
	}
	n := rapid.Int64Range(0, 4).Draw(m.T, "n")
	low := rapid.Int64Range(0, 4).Draw(m.T, "low")
	within := rapid.Bool().Draw(m.T, "within")
	switch rapid.SampledFrom([]string{"none", "none", "sleep", "sleep", "at most", "exactly", "once", "keep"}).Draw(m.T, "claim") {
	case "none":
		m.plan = workload.Plan{}
	case "sleep":
		m.plan = at(sleep(), m.now)
	case "at most":
		m.plan = at(size(workload.SizeAtMost, n), m.now)
	case "exactly":
		m.plan = at(size(workload.SizeExactly, n), m.now)
	case "once":
		m.plan = once(n, m.now)
	case "keep":
		m.plan = workload.Plan{Keep: map[workload.Policy]bool{nights: true, peaks: true}}
		return
	}
	if m.plan.Size != nil {
		m.plan.Size.By = rapid.SampledFrom([]workload.Policy{nights, peaks}).Draw(m.T, "by")
	}
	if within && (m.plan.Size == nil || m.plan.Size.Once) {
		m.plan = inside(m.plan, low, low+n)
	}
}

// run lets the manager make a number of writes. After that, a size that is set once counts as the owner's, and so does a
// count that was restored inside bounds.
func (m *scaleModel) run(writes int) {
	m.server.play(m.tb, m.a, m.plan, writes, func() {
		switch now := m.count(); {
		case m.plan.Size != nil && m.plan.Size.Once:
			if now == path.Integer(m.within(m.plan.Size.Value.Replicas)) {
				m.owner = now
			}
		case m.plan.Size == nil && m.plan.Within != nil && m.replicas() > 0:
			if n := m.plan.Within.Clamp(m.replicas()); now == path.Integer(n) && n != m.replicas() {
				m.owner = now
			}
		}
	})
	if writes < everything {
		return
	}
	m.checkSettled()
	if len(m.server.ledger(m.tb, m.a)) == 0 {
		m.touched = time.Time{}
	}
}

// within returns a count inside the bounds of the plan.
func (m *scaleModel) within(n int64) int64 {
	if m.plan.Within == nil {
		return n
	}
	return m.plan.Within.Clamp(n)
}

// replicas returns the meaning of the owner's count.
func (m *scaleModel) replicas() int64 {
	n, _ := m.a.Components[0].Read(m.owner)
	return n
}

// edit is a manual change that differs from Flyball's writes.
func (m *scaleModel) edit() {
	value := rapid.SampledFrom(ownCounts).Draw(m.T, "value")
	if e := m.server.ledger(m.tb, m.a).Find("/spec/replicas"); value == m.count() || e != nil &&
		(value == e.Set || e.Pending && value == e.Prior) {
		return
	}
	m.server.set("/spec/replicas", value)
	m.owner, m.touched = value, m.now
}

func (m *scaleModel) checkObserved() {
	if c := m.a.Observe(projected(m.tb, m.a, m.server.doc)).Components; len(c) != 1 || c[0].Replicas != m.replicas() {
		m.Fatalf("policies see %v, the owner's count is %q: %s", c, m.owner, m.server.doc)
	}
}

// checkSettled checks an object on which nothing is left to write.
func (m *scaleModel) checkSettled() {
	r := rendered(m.tb, m.a, m.server.doc, m.plan)
	if m.plan.Keep != nil || m.plan.Size != nil && m.plan.Size.Once {
		return
	}
	want := m.replicas()
	if m.plan.Size != nil {
		want = m.plan.Size.Value.Of(workload.Component{Replicas: want})
	}
	got, _ := m.a.Components[0].Read(m.count())
	switch {
	case r.State == workload.StateOverridden && m.plan.Size.Since.After(m.touched):
		m.Fatalf("nobody has changed the count, but: %s; %s", r.Message, m.server.doc)
	case r.State != workload.StateOverridden && got != want:
		m.Fatalf("the count is %d, want %d: %s", got, want, m.server.doc)
	case r.State == workload.StateOverridden && m.count() != m.owner:
		m.Fatalf("the owner's change to %q is respected, but the count is %q", m.owner, m.count())
	}
}
