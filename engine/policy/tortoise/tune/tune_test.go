package tune

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/workload"
)

var monday = time.Date(2037, 1, 5, 0, 0, 0, 0, time.UTC)

// scene is a target with an autoscaler that follows the demand at once. The tuner decides for it minute by minute.
type scene struct {
	*Tuner
	spec     Spec
	setting  Setting
	replicas int
	now      time.Time
	demand   func(at time.Time) float64
	// grows returns the factor for the usage of memory and of the other container; nil: 1.
	grows func(at time.Time) float64
	// pods are the requests that the pods have. They follow the setting, except while stays returns true; stays is nil: they
	// always follow.
	pods  map[string]Requests
	stays func(at time.Time) bool
	// blind is true if there are no samples. stuck is true if the autoscaler cannot read its metrics.
	blind, stuck bool
	random       *rand.Rand
	last         Recommendation
}

func newScene() *scene {
	s := &scene{Tuner: New(), spec: Defaults(Profiles["Balanced"], "app"), now: monday, replicas: 5,
		random: rand.New(rand.NewPCG(1, 2))}
	s.setting = Setting{Requests: map[string]Requests{"app": {1000, 1 << 30}, "proxy": {100, 128 << 20}}, Min: 3, Max: 50, Utilisation: 70}
	s.spec.Owner = OwnerSetting{Request: 1000, Target: 70, Min: 3}
	s.demand = func(at time.Time) float64 {
		return 2500 - 1500*math.Cos(2*math.Pi*float64(at.Hour()*60+at.Minute())/1440)
	}
	return s
}

// minute advances the time by a minute and applies the recommendation.
func (s *scene) minute() Recommendation {
	s.now = s.now.Add(time.Minute)
	demand := s.demand(s.now) * math.Exp(0.03*s.random.NormFloat64())
	request := float64(s.setting.Requests["app"].CPU)
	if !s.blind {
		s.replicas = min(max(int(math.Ceil(demand/request*100/float64(s.setting.Utilisation))), s.setting.Min), s.setting.Max)
		n, by := float64(s.replicas), 1.0
		if s.grows != nil {
			by = s.grows(s.now)
		}
		s.Observe(
			workload.Sample{At: s.now, Container: "app", CPU: demand / n, Memory: by * (400 << 20), Replicas: s.replicas},
			workload.Sample{At: s.now, Container: "proxy", CPU: by * 0.02 * demand / n, Memory: by * (60 << 20), Replicas: s.replicas},
		)
	} else {
		s.replicas = max(s.replicas, s.setting.Min)
	}
	behind := false
	for name, has := range s.pods {
		behind = behind || has.CPU > s.setting.Requests[name].CPU || has.Memory > s.setting.Requests[name].Memory
	}
	s.last = s.Decide(s.spec, Observed{Now: s.now, Setting: s.setting, Replicas: s.replicas, Ready: s.replicas, Stuck: s.stuck,
		Behind: behind})
	s.setting = s.last.Setting
	if s.stays == nil || !s.stays(s.now) {
		s.pods = s.setting.Requests
	}
	return s.last
}

func (s *scene) run(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.minute()
	}
}

// TestUsefulWithinAnHour checks the first days: nothing is changed at first, then memory is tuned with wide margins,
// and
// after a day everything is tuned.
func TestUsefulWithinAnHour(t *testing.T) {
	s := newScene()
	before := s.setting
	s.run(29 * time.Minute)
	if s.last.Phase != GatheringData || cmp.Diff(before, s.setting) != "" {
		t.Errorf("after 29 minutes it is %s: %s", s.last.Phase, cmp.Diff(before, s.setting))
	}
	s.run(31 * time.Minute)
	if s.last.Phase != PartlyWorking {
		t.Errorf("after an hour it is %s", s.last.Phase)
	}
	if m := s.setting.Requests["app"].Memory; m >= 1<<30 || m < 400<<20 {
		t.Errorf("after an hour memory is %d MiB", m>>20)
	}
	s.run(26 * time.Hour)
	if s.last.Phase != Working {
		t.Errorf("after a day it is %s", s.last.Phase)
	}
	s.run(3 * 24 * time.Hour)
	if r := s.setting.Requests; r["app"].CPU > 700 || r["proxy"].CPU >= 50 || r["app"].Memory > 600<<20 {
		t.Errorf("after four days requests are %+v", r)
	}
	if u := s.setting.Utilisation; u < 70 || u > 77 {
		t.Errorf("the target is %d %%", u)
	}
	if h := s.Hours(s.spec, s.now, s.setting.Requests["app"].CPU); len(h) != 24 || h[0] != s.setting.Min {
		t.Errorf("the hours are %v, and the minimum is %d", h, s.setting.Min)
	}
}

// TestEveryNumberHasAReason checks that the reason of each number has the name of the number.
func TestEveryNumberHasAReason(t *testing.T) {
	s := newScene()
	of := map[string]bool{}
	for range 50 * 60 {
		for _, r := range s.minute().Reasons {
			of[r.Of] = true
			if r.Text == "" || !strings.Contains(r.String(), r.Of) {
				t.Fatalf("a reason is %q", r)
			}
		}
	}
	for _, want := range []string{"phase", "min", "request", "utilisation", "app memory", "proxy memory", "proxy cpu"} {
		if !of[want] {
			t.Errorf("%s has no reason", want)
		}
	}
}

// TestCapacityNeverFallsInAnEmergency checks that capacity falls neither in an emergency nor in the half hour after
// it.
// Then it falls in one step (fault 1).
func TestCapacityNeverFallsInAnEmergency(t *testing.T) {
	for name, lose := range map[string]func(s *scene, lost bool){
		"metrics are lost":           func(s *scene, lost bool) { s.blind = lost },
		"the autoscaler is stuck":    func(s *scene, lost bool) { s.stuck = lost },
		"by hand":                    func(s *scene, lost bool) { s.spec.Manual = lost },
		"metrics and the autoscaler": func(s *scene, lost bool) { s.blind, s.stuck = lost, lost },
	} {
		s := newScene()
		s.run(38 * time.Hour)
		lose(s, true)
		s.run(6 * time.Minute)
		if s.last.Phase != Emergency {
			t.Fatalf("%s: it is %s", name, s.last.Phase)
		}
		low, replicas, request := s.setting.Min, s.replicas, s.setting.Requests["app"]
		for range 6 * 60 { // into the night, with little demand
			s.minute()
			if s.setting.Min < low || s.replicas < replicas || s.setting.Requests["app"] != request || s.setting.Max < s.setting.Min {
				t.Fatalf("%s: from %d to %+v with %d replicas", name, low, s.setting, s.replicas)
			}
			low, replicas = s.setting.Min, s.replicas
		}
		lose(s, false)
		if name == "by hand" { // all has been well for hours
			s.run(2 * time.Minute)
		} else if s.run(29 * time.Minute); s.setting.Min != low || s.last.Phase != BackToNormal {
			t.Fatalf("%s: within half an hour the minimum has come from %d to %d in %s", name, low, s.setting.Min, s.last.Phase)
		}
		s.run(3 * time.Minute)
		if planned := s.planned(s.spec, Observed{Now: s.now}, s.setting.Requests["app"].CPU); s.setting.Min != planned || planned >= low ||
			s.last.Phase != Working {
			t.Errorf("%s: half an hour later the minimum has come from %d to %d in %s, want %d", name, low, s.setting.Min, s.last.Phase, planned)
		}
	}
}

// TestGapsOfMetricsMoveNoBounds checks that the minimum stays if metrics are missing for a quarter of an hour again
// and
// again.
func TestGapsOfMetricsMoveNoBounds(t *testing.T) {
	s := newScene()
	s.demand = func(time.Time) float64 { return 2500 }
	s.run(38 * time.Hour)
	changes, emergencies := 0, 0
	for i := range 24 * 60 {
		before, was := s.setting.Min, s.last.Phase
		s.blind = i%40 < 15
		if s.minute(); s.setting.Min != before {
			changes++
		}
		if s.last.Phase == Emergency && was != s.last.Phase {
			emergencies++
		}
	}
	if emergencies != 36 || changes > 2 {
		t.Errorf("in a day with %d emergencies the minimum changes %d times", emergencies, changes)
	}
}

// TestALowerDemandIsFollowed checks that an earlier high demand does not keep the minimum high (fault 3), and that
// utilisation does not drift (fault 4).
func TestALowerDemandIsFollowed(t *testing.T) {
	s := newScene()
	s.run(3 * 24 * time.Hour)
	high, demand := s.setting.Min*int(s.setting.Requests["app"].CPU), s.demand
	s.demand = func(at time.Time) float64 { return demand(at) / 3 }
	s.run(3 * 24 * time.Hour)
	if low := s.setting.Min * int(s.setting.Requests["app"].CPU); low > high {
		t.Errorf("the minimum is %dm, and was %dm with three times the demand", low, high)
	}
	if u := s.setting.Utilisation; u < 65 || u > 77 {
		t.Errorf("the target has become %d %%", u)
	}
}

// TestRequestsChangeWithCooldowns checks that a request rises and falls with cooldowns, in steps within the guards
// (faults
// 5 and 6).
func TestRequestsChangeWithCooldowns(t *testing.T) {
	s := newScene()
	demand := s.demand
	s.demand = func(at time.Time) float64 {
		if at.Sub(monday) > 3*24*time.Hour {
			return 8 * demand(at)
		}
		return demand(at)
	}
	changed, changes := monday, 0
	for range 5 * 24 * 60 {
		before := s.setting.Requests["app"].CPU
		s.minute()
		after := s.setting.Requests["app"].CPU
		if after == before {
			continue
		}
		if changes++; s.now.Sub(changed) < s.spec.Cooldown || float64(after) < 0.8*float64(before)-1 || after > 2*before {
			t.Fatalf("%s: from %d to %d after %s", s.now, before, after, s.now.Sub(changed))
		}
		changed = s.now
	}
	if changes == 0 || changes > 40 {
		t.Errorf("the request was changed %d times in five days", changes)
	}
}

// TestFallsWaitUntilPodsHaveThem checks that only one step down is recommended while pods do not change. A cooldown
// after
// the pods have this step, requests fall again. Requests that are too small rise in the meantime.
func TestFallsWaitUntilPodsHaveThem(t *testing.T) {
	s := newScene()
	s.run(24*time.Hour + 30*time.Minute) // requests are still falling step by step
	stuck, let := s.now, s.now.Add(30*time.Hour)
	s.stays = func(at time.Time) bool { return !at.After(let) }
	pods, falls, said := s.pods, map[string]int{}, false
	for s.now.Before(let) {
		before := s.setting.Requests
		s.minute()
		for name, r := range s.setting.Requests {
			if r.CPU < before[name].CPU {
				falls[name+" cpu"]++
			}
			if r.Memory < before[name].Memory {
				falls[name+" memory"]++
			}
		}
		for _, r := range s.last.Reasons {
			said = said || r.Of == "request" && strings.HasSuffix(r.Text, "; it does not fall while a pod requests more than is set")
		}
		if s.now.Sub(stuck) > 2*time.Hour && !s.last.Next.IsZero() {
			t.Fatalf("%s: the next step is announced for %s", s.now, s.last.Next)
		}
	}
	if cmp.Diff(pods, s.pods) != "" || falls["app cpu"] != 1 || !said {
		t.Errorf("pods have %v, requests fell %v times, and it was said: %t", s.pods, falls, said)
	}
	for of, n := range falls {
		if n > 1 {
			t.Errorf("%s fell %d times", of, n)
		}
	}
	s.minute() // the last minute in which the pods still have their old requests
	last := s.now
	before := s.setting.Requests["app"].CPU
	for s.setting.Requests["app"].CPU == before && s.now.Sub(last) < 2*s.spec.Cooldown {
		s.minute()
	}
	if waited := s.now.Sub(last); waited != s.spec.Cooldown && waited != s.spec.Cooldown+time.Minute {
		t.Errorf("the next step came after %s", waited)
	}
	s.run(2 * time.Minute)
	s.stays = func(time.Time) bool { return true }
	started := s.now
	s.grows = func(at time.Time) float64 { return 1 + 5*at.Sub(started).Hours() }
	before = s.setting.Requests["app"].Memory
	s.run(3 * time.Hour)
	if m := s.setting.Requests["app"].Memory; m < 2*before {
		t.Errorf("memory is %d MiB after it was short for three hours, and was %d MiB", m>>20, before>>20)
	}
}

// TestMemoryRisesToAnExplicitMinimumOnly checks that memory rises to an explicit minimum even if little is used. It
// does not rise to a
// default minimum.
func TestMemoryRisesToAnExplicitMinimumOnly(t *testing.T) {
	for floor, want := range map[int64]int64{0: 1 << 30, 3 << 30: 3 << 30} {
		s := newScene()
		s.spec.Limits = map[string]Limits{"app": {Min: Requests{CPU: 50, Memory: 3 << 30}, Max: Requests{CPU: 4000, Memory: 8 << 30},
			Floor: Requests{Memory: floor}}}
		s.run(3 * 24 * time.Hour)
		if m := s.setting.Requests["app"].Memory; m != want {
			t.Errorf("with %d MiB asked for, memory is %d MiB", floor>>20, m>>20)
		}
	}
}

// TestShortRequestsRiseTogetherWithPauses uses a need of memory and of other containers that grows every minute.
// Requests grow at
// once, but not every minute (fault 6). All requests that are too small rise together.
func TestShortRequestsRiseTogetherWithPauses(t *testing.T) {
	s := newScene()
	s.run(2 * 24 * time.Hour)
	started, pause := s.now, s.spec.Cooldown/haste
	s.grows = func(at time.Time) float64 { return 1 + at.Sub(started).Hours() }
	var rose time.Time
	rises, waited := 0, false
	for range 12 * 60 {
		before := s.setting.Requests
		s.minute()
		after := s.setting.Requests
		for _, r := range s.last.Reasons {
			waited = waited || strings.HasSuffix(r.Text, "; it is short, and rises again 15m0s after it last did")
		}
		if after["app"].Memory <= before["app"].Memory && after["proxy"].Memory <= before["proxy"].Memory &&
			after["proxy"].CPU <= before["proxy"].CPU {
			continue
		}
		if s.now.Sub(rose) < pause {
			t.Fatalf("%s after %s: from %v to %v", s.now, s.now.Sub(rose), before, after)
		}
		rises, rose = rises+1, s.now
	}
	if rises < 3 || !waited {
		t.Errorf("there were %d rises, and it was said that they wait: %t", rises, waited)
	}
	if m := s.setting.Requests["app"].Memory; m < 13*400<<20 {
		t.Errorf("in the end memory is %d MiB, and %d are used", m>>20, 13*400)
	}
}

// TestBoundsAreAlwaysValid: the maximum is never below the minimum (fault 7).
func TestBoundsAreAlwaysValid(t *testing.T) {
	s := newScene()
	s.spec.Bounds.Max = 12
	demand := s.demand
	s.demand = func(at time.Time) float64 { return 10 * demand(at) }
	for range 3 * 24 * 60 {
		s.minute()
		if s.setting.Min > s.setting.Max || s.setting.Min > 12 || s.setting.Min < 3 {
			t.Fatalf("the bounds are %d and %d", s.setting.Min, s.setting.Max)
		}
	}
}

// TestDemandIsLearntNotReplicas checks that a high minimum set by the owner does not change the learnt demand (fault
// 11).
func TestDemandIsLearntNotReplicas(t *testing.T) {
	free, raised := newScene(), newScene()
	for range 3 * 24 * 60 {
		free.minute()
		raised.setting.Min = 40
		raised.minute()
	}
	if a, b := free.last.Upper, raised.last.Upper; math.Abs(a/b-1) > 0.1 {
		t.Errorf("demand is at most %.0fm, and %.0fm where forty pods serve it", a, b)
	}
}

// TestARestartChangesNothing checks that a tuner restored from its state and history recommends the same.
func TestARestartChangesNothing(t *testing.T) {
	kept, restarted := newScene(), newScene()
	for i := range 2 * 24 * 60 {
		a := kept.minute()
		if i%977 == 0 {
			history, err := Unmarshal(restarted.Usage.Marshal())
			if err != nil {
				t.Fatal(err)
			}
			restarted.Tuner = &Tuner{Usage: history, State: restarted.State}
		}
		b := restarted.minute()
		if diff := cmp.Diff(a.Setting, b.Setting); diff != "" {
			t.Fatalf("at %s: %s", kept.now, diff)
		}
	}
}

// TestAKillRaisesMemoryAtOnce checks that memory rises after a kill without waiting for a cooldown.
func TestAKillRaisesMemoryAtOnce(t *testing.T) {
	s := newScene()
	s.run(30 * time.Hour)
	limit := s.setting.Requests["app"].Memory
	s.Observe(workload.Sample{At: s.now, Container: "app", CPU: -1, Memory: -1, OOMKills: 1, MemoryLimit: float64(limit)})
	s.minute()
	if got := s.setting.Requests["app"].Memory; float64(got) < 1.2*float64(limit) {
		t.Errorf("after a kill at %d MiB it is %d MiB", limit>>20, got>>20)
	}
}
