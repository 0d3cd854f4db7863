package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// inOrderWithLate returns a Schedule with an order, and a Schedule that keeps the targets with the label late asleep
// for an hour more.
func inOrderWithLate() []policy.Object {
	late := nightly(0)
	late.Name, late.Spec.Upscale, late.Spec.Priority = "late", "0 9 * * *", 10
	late.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"late": "yes"}}
	return []policy.Object{inOrder(func(s *v1alpha1.Schedule) { s.Spec.Order.Waves[1].WaitFor = v1alpha1.WaitForReady }), late}
}

func sleepingLate(name, tier string) string {
	return strings.Replace(sleeping(name, tier), `"labels":{`, `"labels":{"late":"yes",`, 1)
}

// A target that comes due later waits for earlier waves too, while the write of another target fails.
func TestTargetsThatComeDueLaterWaitForEarlierWaves(t *testing.T) {
	c := &crew{Memory: memory(t, inOrderWithLate(), tiered("db", "db", 1, 1, ""), sleeping("web", ""),
		sleepingLate("late-db", "db"), sleepingLate("late-web", "")), Waits: &decide.Waits{}, now: morning}
	decided := func(name string) decide.Verdict {
		v := decide.Target(c, deploymentRef(name), c.now, nil)
		c.Decided(deploymentRef(name), &v, c.now)
		return v
	}
	decided("web")
	if v := decided("web"); v.Gate.Kind != decide.GateOpen {
		t.Fatalf("web waits for %+v", v.Gate)
	}
	c.now = morning.Add(time.Hour)
	decided("late-web")
	v := decided("late-web")
	if v.Gate.Kind != decide.GateOrder || v.Gate.Order.Last != deploymentRef("late-db") || !v.Gate.Until.Equal(c.now.Add(10*time.Minute)) {
		t.Errorf("a target that comes due at 9:00 does not wait for its database until 9:10: %+v", v.Gate)
	}
	if v = decided("web"); v.Gate.Kind != decide.GateOpen {
		t.Errorf("the target whose write fails waits for a database that came due later: %+v", v.Gate)
	}
	if holds, waiting := c.Open(nights); waiting != 1 || holds[0].Place != 0 || !holds[0].Since.Equal(c.now) {
		t.Errorf("%d targets wait for %+v", waiting, holds)
	}
}

// A standing of the status is for targets that were due before the restart, and not for a target that was settled since.
func TestAStandingOfTheStatusIsNotForTargetsThatComeDueAfterARestart(t *testing.T) {
	c := &crew{Memory: memory(t, inOrderWithLate(), tiered("db", "db", 1, 0, ""), sleeping("web", ""),
		sleepingLate("late-db", "db"), sleepingLate("late-web", ""), sleepingLate("new-web", "")), Waits: &decide.Waits{},
		now: morning.Add(20 * time.Minute)}
	c.Resume(decide.Line{Policy: nights, Direction: workload.DirectionUp}, decide.Standing{Place: 2, Since: morning.Add(10 * time.Minute)})
	for _, ref := range []workload.Ref{deploymentRef("late-web"), deploymentRef("web"), deploymentRef("web")} {
		v := decide.Target(c, ref, c.now, nil)
		c.Decided(ref, &v, c.now)
		if v.Gate.Kind != decide.GateOpen {
			t.Errorf("%s waits for a wave that had timed out before the restart: %+v", ref, v.Gate)
		}
	}
	c.Arrived(deploymentRef("new-web"))
	for _, name := range []string{"late-db", "late-web", "new-web"} {
		if _, err := c.Apply(deploymentRef(name), &workload.Patch{Body: []byte(`{"metadata":{"labels":{"late":null}}}`)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"late-web", "new-web"} {
		if v := decide.Target(c, deploymentRef(name), c.now, nil); v.Gate.Kind != decide.GateOrder {
			t.Errorf("%s comes due after the restart and waits for no database: %+v", name, v.Gate)
		}
	}
}

// The party of the status goes on to its next wave, and only then a target is decided that came due after the restart.
func TestAStandingOfTheStatusIsThatOfTheRestart(t *testing.T) {
	c := &crew{Memory: memory(t, inOrderWithLate(), tiered("db", "db", 1, 1, ""), sleeping("web", ""), sleepingLate("late-db", "db"),
		sleepingLate("late-web", "")), Waits: &decide.Waits{}, now: morning.Add(59 * time.Minute)}
	c.Resume(decide.Line{Policy: nights, Direction: workload.DirectionUp}, decide.Standing{Since: morning.Add(55 * time.Minute)})
	v := decide.Target(c, deploymentRef("web"), c.now, nil)
	c.now = morning.Add(61 * time.Minute)
	if c.Decided(deploymentRef("web"), &v, c.now); v.Gate.Kind != decide.GateOpen {
		t.Errorf("web waits: %+v", v.Gate)
	}
	if v = decide.Target(c, deploymentRef("late-web"), c.now, nil); v.Gate.Kind != decide.GateOrder {
		t.Errorf("late-web does not wait: %+v", v.Gate)
	}
}

// The status has the standing of targets due since the morning. They have gone on to the wave of one that came due with the database.
func TestAStandingOfTheStatusIsNotForALaterParty(t *testing.T) {
	c := &crew{Memory: memory(t, inOrderWithLate(), sleepingLate("late-db", "db"), sleepingLate("late-cache", "cache"), sleeping("web", "")),
		Waits: &decide.Waits{}, now: morning.Add(80 * time.Minute)}
	c.Resume(decide.Line{Policy: nights, Direction: workload.DirectionUp}, decide.Standing{Place: 1, Since: morning.Add(70 * time.Minute)})
	if v := decide.Target(c, deploymentRef("late-cache"), c.now, nil); v.Gate.Kind != decide.GateOrder {
		t.Errorf("late-cache does not wait for its database: %+v", v.Gate)
	}
}

// Workers decide at the same time. A worker whose clock reading is a moment older must not undo the end of a timeout.
func TestADecisionOfAMomentBeforeKeepsTheTimeout(t *testing.T) {
	c := &crew{Memory: memory(t, []policy.Object{inOrder(nil)}, tiered("db", "db", 1, 0, ""), sleeping("web", ""), sleeping("www", "")),
		Waits: &decide.Waits{}}
	gate := func(name string, at time.Time) decide.GateKind {
		v := decide.Target(c, deploymentRef(name), at, nil)
		c.Decided(deploymentRef(name), &v, at)
		return v.Gate.Kind
	}
	for range 2 {
		for _, name := range []string{"web", "www"} {
			if gate(name, morning) != decide.GateOrder {
				t.Fatalf("%s does not wait", name)
			}
		}
	}
	end := morning.Add(10 * time.Minute)
	if gate("web", end.Add(time.Second)) != decide.GateOpen || gate("www", end) != decide.GateOpen {
		t.Error("targets wait after the timeout")
	}
}

// shift is a crew whose targets come due at different times.
type shift struct {
	*crew
	tier map[string]string
	// due and dueAt are the step and the instant at which a target came due.
	due   map[string]int
	dueAt map[string]time.Time
	late  map[string]bool
	// unready has the woken targets that are not ready.
	unready map[string]bool
	// finished is the last step at which a tier had no unfinished target.
	finished map[string]int
	step     int
}

func newShift(t *testing.T, rt *rapid.T) *shift {
	tiers := []string{"db", "cache", "app"}
	s := &shift{tier: map[string]string{}, due: map[string]int{}, dueAt: map[string]time.Time{}, late: map[string]bool{},
		unready: map[string]bool{}, finished: map[string]int{}}
	var manifests []string
	for i := range rapid.IntRange(2, 5).Draw(rt, "targets") {
		tier := rapid.SampledFrom(tiers).Draw(rt, "tier")
		name := fmt.Sprintf("%s-%d", tier, i)
		s.tier[name] = tier
		if rapid.Bool().Draw(rt, "late") {
			s.late[name] = true
			manifests = append(manifests, sleepingLate(name, tier))
			continue
		}
		s.due[name], s.dueAt[name] = 0, morning
		manifests = append(manifests, sleeping(name, tier))
	}
	s.crew = &crew{Memory: memory(t, inOrderWithLate(), manifests...), Waits: &decide.Waits{}, t: rt, now: morning, stuck: map[string]bool{},
		wakes: map[workload.Ref]time.Time{}}
	s.queue = s.all()
	for _, ref := range s.queue {
		if rapid.IntRange(0, 2).Draw(rt, "stuck "+ref.Name) == 0 {
			s.stuck[ref.Name] = true
		}
	}
	return s
}

func (s *shift) all() (refs []workload.Ref) {
	for _, name := range slices.Sorted(maps.Keys(s.tier)) {
		refs = append(refs, deploymentRef(name))
	}
	return refs
}

// pick draws one of some names, or "" if there is none.
func (s *shift) pick(names map[string]bool) string {
	if len(names) == 0 {
		return ""
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(names))).Draw(s.t, "name")
}

// comesDue notes that a late target comes due.
func (s *shift) comesDue(name string) {
	delete(s.late, name)
	s.due[name], s.dueAt[name] = s.step, s.now
	s.queue = append(s.queue, deploymentRef(name))
}

// advance moves the clock and queues the targets with a due instant.
func (s *shift) advance(to time.Time) {
	s.now = to
	for _, ref := range s.all() {
		if at := s.wakes[ref]; !at.IsZero() && !at.After(to) {
			s.queue = append(s.queue, ref)
		}
	}
	if !to.Before(morning.Add(time.Hour)) {
		for _, name := range slices.Sorted(maps.Keys(s.late)) {
			s.comesDue(name)
		}
	}
}

// restart forgets everything but the status, if it was written.
func (s *shift) restart(status bool) {
	holds, _ := s.Open(nights)
	s.Waits, s.queue, s.decided = &decide.Waits{}, s.all(), nil
	if status && len(holds) > 0 && holds[0].Waves > 0 {
		s.Resume(holds[0].Line, decide.Standing{Place: holds[0].Place, Since: holds[0].Since})
	}
}

// check fails if the target woke before a look at each earlier tier without unfinished targets, and before the
// timeout.
func (s *shift) check(name string) {
	for _, tier := range []string{"db", "cache"} {
		if s.tier[name] == tier {
			return
		}
		if s.finished[tier] < s.due[name] && s.now.Before(s.dueAt[name].Add(10*time.Minute)) {
			s.t.Fatalf("%s came due at step %d and woke at step %d, but %s was last finished at step %d", name, s.due[name], s.step, tier,
				s.finished[tier])
		}
	}
}

// observe notes the tiers that are finished now.
func (s *shift) observe() {
	for _, tier := range []string{"db", "cache", "app"} {
		unfinished := func(name string) bool {
			_, due := s.due[name]
			return due && s.tier[name] == tier && (!slices.Contains(s.woken, name) || s.unready[name])
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(s.tier)), unfinished) {
			s.finished[tier] = s.step
		}
	}
}

// act takes a random step. events is true if labels change, and otherwise the status outlives restarts.
func (s *shift) act(events bool) {
	ready := map[string]bool{}
	for _, name := range s.woken {
		if !s.unready[name] {
			ready[name] = true
		}
	}
	switch action := rapid.IntRange(0, 24).Draw(s.t, "action"); {
	case action == 0:
		s.restart(!events)
	case action == 1 && s.now.Before(morning.Add(8*time.Hour)): // the end of the test must come before the evening
		s.advance(s.now.Add(time.Duration(rapid.SampledFrom([]int{1, 9, 11, 60}).Draw(s.t, "minutes")) * time.Minute))
	case action <= 3 && events && len(s.late) > 0:
		name := s.pick(s.late)
		if _, err := s.Apply(deploymentRef(name), &workload.Patch{Body: []byte(`{"metadata":{"labels":{"late":null}}}`)}); err != nil {
			s.t.Fatal(err)
		}
		s.comesDue(name)
	case action == 4 && len(ready) > 0:
		name := s.pick(ready)
		s.unready[name] = true
		s.setReady(name, 0)
	case action <= 6 && len(s.unready) > 0:
		name := s.pick(s.unready)
		delete(s.unready, name)
		s.setReady(name, 1)
	case action == 7 && len(s.stuck) > 0:
		name := s.pick(s.stuck)
		delete(s.stuck, name)
		s.queue = append(s.queue, deploymentRef(name))
	case action == 8 && len(s.stuck) > 0:
		s.queue = append(s.queue, deploymentRef(s.pick(s.stuck)))
	case s.busy():
		s.work()
	}
}

func (s *shift) setReady(name string, n int) {
	body := fmt.Sprintf(`{"status":{"observedGeneration":9,"replicas":1,"updatedReplicas":%[1]d,"availableReplicas":%[1]d}}`, n)
	if _, err := s.Apply(deploymentRef(name), &workload.Patch{Body: []byte(body)}); err != nil {
		s.t.Fatal(err)
	}
	s.queue = append(s.queue, deploymentRef(name))
}

// Targets come due at different times, writes fail, objects become ready and unready, and the manager restarts, all at
// random. A target waits for each earlier wave from its own begin, and in the end every target wakes.
func TestEachTargetWaitsFromItsOwnBegin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newShift(t, rt)
		events := rapid.Bool().Draw(rt, "events")
		for s.step = 1; s.step < 100; s.step++ {
			before := len(s.woken)
			s.act(events)
			for _, name := range s.woken[before:] {
				s.unready[name] = true
				s.check(name)
			}
			s.observe()
		}
		clear(s.stuck)
		s.queue = append(s.queue, s.all()...)
		if nine := morning.Add(time.Hour); s.now.Before(nine) {
			s.advance(nine)
		}
		for range 30 { // more than all timeouts
			for s.busy() {
				s.work()
			}
			s.advance(s.now.Add(5 * time.Minute))
		}
		if len(s.woken) != len(s.tier) {
			rt.Fatalf("of %v only %v woke", slices.Sorted(maps.Keys(s.tier)), s.woken)
		}
	})
}

// A survey of many targets looks through each wave once.
func TestSurveysLookThroughAWaveOnce(t *testing.T) {
	var manifests []string
	for i := range 40 {
		manifests = append(manifests, tiered(fmt.Sprintf("db-%02d", i), "db", 1, 1, ""), sleeping(fmt.Sprintf("redis-%02d", i), "cache"),
			sleeping(fmt.Sprintf("web-%02d", i), ""))
	}
	w := &surveyed{Memory: memory(t, []policy.Object{inOrder(nil)}, manifests...)}
	survey, waiting := decide.NewSurvey(w, morning), 0
	w.EachObject(func(ref workload.Ref) {
		v, alone := survey.Target(ref), decide.Target(w.Memory, ref, morning, nil)
		if v.Gate.Kind != alone.Gate.Kind || v.Gate.Reason != alone.Gate.Reason {
			t.Errorf("%s: the survey has %+v, and a decision alone has %+v", ref, v.Gate, alone.Gate)
		}
		if v.Gate.Kind == decide.GateOrder {
			waiting++
		}
	})
	if waiting != 40 || w.looks != 2 {
		t.Errorf("%d targets wait, with %d looks at all of them; want 40 and 2", waiting, w.looks)
	}
}

// surveyed is a world that counts the looks at all targets of a policy.
type surveyed struct {
	*world.Memory
	looks int
}

func (s *surveyed) EachOf(p *decide.Policy, namespace string, yield func(*decide.Kind, *workload.Object)) {
	s.looks++
	s.Memory.EachOf(p, namespace, yield)
}
