package tune

import (
	"math"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// TestAStepOfARequest checks the steps. A request falls by a fifth, a cooldown after the last change and after the
// last
// pod had the step before. Only a request that is too small rises: at once, and again after a quarter of the cooldown,
// whatever the pods request.
func TestAStepOfARequest(t *testing.T) {
	const long, behind, quarter = 24 * time.Hour, 0, 15 * time.Minute
	spec := half()
	for _, tc := range []struct {
		reason string
		// How long ago requests were changed, one rose, and a pod requested more than was set.
		resized, raised, behind time.Duration
		wanted, want            int64
		needed                  bool
	}{
		{"down too soon", time.Hour - 1, long, long, 500, 1000, false},
		{"down after the cooldown", time.Hour, time.Hour, long, 500, 800, false},
		{"not down while it is short", long, long, long, 500, 1000, true},
		{"not down while a pod requests more", long, long, behind, 500, 1000, false},
		{"not down too soon after a pod requested more", long, long, time.Hour - 1, 500, 1000, false},
		{"down a cooldown after a pod requested more", long, long, time.Hour, 500, 800, false},
		{"up where it is short, at once", 0, long, long, 1500, 1500, true},
		{"up again too soon", 0, quarter - 1, long, 1500, 1000, true},
		{"up again after a quarter of the cooldown", 0, quarter, long, 1500, 1500, true},
		{"up while a pod requests more", long, long, behind, 1500, 1500, true},
		{"not up where it is not short", long, long, long, 1500, 1000, false},
		{"as it is", long, long, long, 1000, 1000, true},
	} {
		tuner := New()
		tuner.State.Resized, tuner.State.Raised, tuner.State.Behind = monday.Add(-tc.resized), monday.Add(-tc.raised), monday.Add(-tc.behind)
		if got := tuner.pace(spec, Observed{Now: monday, Behind: tc.behind == behind}).step(spec, 1000, tc.wanted, tc.needed); got != tc.want {
			t.Errorf("%s: it is %d, want %d", tc.reason, got, tc.want)
		}
	}
}

// TestTheShareOfTheLastWeek checks the share of the last week. A share of 0.02 is in the bucket of 200
// ten-thousandths,
// which begins at 1.12^46. Older or newer samples, and samples without demand of the scaled container, do not count.
func TestTheShareOfTheLastWeek(t *testing.T) {
	tuner, spec := New(), half()
	spec.Profile.Share = 0.5
	until := minuteOf(monday) + 7*24*60
	for n := minuteOf(monday) - 1; n <= until; n++ {
		demand, share := 1000.0, 0.02
		if n < minuteOf(monday) || n == until {
			share = 500
		}
		if n == until-5 {
			demand, share = 0, 1
		}
		at := time.Unix(n*60, 0)
		tuner.Observe(workload.Sample{At: at, Container: "app", CPU: demand, Memory: -1, Replicas: 1},
			workload.Sample{At: at, Container: "proxy", CPU: max(demand, 7) * share, Memory: -1, Replicas: 1})
	}
	want := math.Pow(1.12, 46.5) / 1e4
	if got := tuner.share(spec, "proxy", until); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("the share is %v, want %v", got, want)
	}
	// Two days later five days of the week are known, and none of them is older than a week.
	if got := tuner.share(spec, "proxy", until+2*24*60); got < 0.018 || got > 0.022 {
		t.Errorf("two days later the share is %v", got)
	}
	if got := tuner.share(spec, "proxy", until+8*24*60); got != 0 {
		t.Errorf("when the week has passed the share is %v", got)
	}
	spec.Profile.Share = 1
	if got := tuner.share(spec, "proxy", until); got > math.Pow(1.12, 47)/1e4*(1+1e-9) {
		t.Errorf("the largest share is %v: something counts that should not", got)
	}
	if got := tuner.share(spec, "none", until); got != 0 {
		t.Errorf("of a container that was not seen it is %v", got)
	}
}

func TestSidecarRequestFollowsItsShareWithinLimits(t *testing.T) {
	tuner, spec := New(), half()
	tuner.shares = map[string]float64{"proxy": 0.02}
	spec.Limits = map[string]Limits{"proxy": {Min: Requests{CPU: 15}, Max: Requests{CPU: 30}}}
	for request, want := range map[int64]int64{100: 15, 750: 15, 751: 16, 1000: 20, 1001: 21, 1500: 30, 5000: 30} {
		if got, why := tuner.beside(spec, "proxy", request); got != want || (why != "") != (request < 750 || request > 1500) {
			t.Errorf("beside %dm it is %dm, want %dm", request, got, want)
		}
	}
}

// TestVerticalRequests checks that proxy needs 20m beside the 1000m of app. Nothing is known about the other
// requests, so
// they stay.
func TestVerticalRequests(t *testing.T) {
	for _, tc := range []struct {
		age       time.Duration
		was, want int64
	}{{0, 10, 20}, {0, 20, 20}, {0, 100, 100}, {time.Hour - 1, 100, 100}, {time.Hour, 100, 80}} {
		tuner, spec := New(), half()
		tuner.State.Phase, tuner.State.Resized, tuner.shares = Working, monday, map[string]float64{"proxy": 0.02, "idle": 0}
		tuner.shared = monday.Add(tc.age)
		was := map[string]Requests{"app": {1000, 1 << 30}, "proxy": {tc.was, 1 << 30}, "idle": {500, 1 << 30}}
		o := Observed{Now: monday.Add(tc.age), Setting: Setting{Requests: was}}
		to := clone(o.Setting)
		tuner.vertical(spec, o, &to)
		if to.Requests["proxy"] != (Requests{tc.want, 1 << 30}) || to.Requests["app"] != was["app"] || to.Requests["idle"] != was["idle"] {
			t.Errorf("after %s, %dm become %+v", tc.age, tc.was, to.Requests)
		}
		if changed := tuner.State.Resized.Equal(o.Now); changed != (tc.was != tc.want || tc.age == 0) {
			t.Errorf("after %s, the change of %dm is remembered: %t", tc.age, tc.was, changed)
		}
		if len(tuner.reasons) != 1 || tuner.reasons[0].String() != "proxy cpu: 20m: 0.020 of the 1000m of app" {
			t.Errorf("the reasons are %v", tuner.reasons)
		}
	}
}

// TestMemoryThatIsShort checks that memory rises if more than 0.92 of the request is used, or if the request is
// below an
// explicit minimum. At the maximum, no reason says that it waits.
func TestMemoryThatIsShort(t *testing.T) {
	const long, short = 24 * time.Hour, "; it is short, and rises again 15m0s after it last did"
	for _, tc := range []struct {
		reason string
		used   float64 // as a share of the request
		raised time.Duration
		// The explicit minimum and the maximum relative to the request; no: none.
		least, most int64
		rises, says bool
	}{
		{"little enough is used", 0.9, long, no, no, false, false},
		{"little enough is used, just after a rise", 0.9, 0, no, no, false, false},
		{"it is short", 0.93, long, no, no, true, false},
		{"it is short, just after a rise", 0.93, 0, no, no, false, true},
		{"it is what is asked for at least", 0.9, long, 0, no, false, false},
		{"it is less than that", 0.9, long, 1, no, true, false},
		{"it is short at the maximum, just after a rise", 0.93, 0, no, 0, false, false},
	} {
		tuner, spec := New(), half()
		spec.Profile.MemoryQuantile, spec.Profile.MemoryMargin = 0.99, 1.2
		tuner.Observe(workload.Sample{At: monday, Container: "app", CPU: -1, Memory: 300 << 20, Replicas: 1})
		tuner.State.Phase, tuner.State.Raised = Working, monday.Add(-tc.raised)
		used := tuner.Usage.Memory("app", 0.99)
		is, l := int64(used/tc.used), Limits{Max: Requests{Memory: 1 << 40}}
		if tc.least != no {
			l.Min.Memory, l.Floor.Memory = is+tc.least, is+tc.least
		}
		if tc.most != no {
			l.Max.Memory = is + tc.most
		}
		spec.Limits = map[string]Limits{"app": l}
		o := Observed{Now: monday, Setting: Setting{Requests: map[string]Requests{"app": {1000, is}}}}
		to := clone(o.Setting)
		tuner.vertical(spec, o, &to)
		want := is
		if tc.rises {
			want = int64(used * 1.2)
		}
		if got := to.Requests["app"].Memory; got != want {
			t.Errorf("%s: of %d bytes it becomes %d, want %d", tc.reason, is, got, want)
		}
		if why := tuner.reasons; len(why) != 1 || why[0].Of != "app memory" || strings.HasSuffix(why[0].Text, short) != tc.says {
			t.Errorf("%s: it says %v", tc.reason, why)
		}
	}
}

// no marks a bound that is not given.
const no = math.MinInt64

// TestCPUThatIsShortWaits checks that CPU that is too small waits for a quarter of the cooldown after the last rise.
// The
// reason says so only if it waits.
func TestCPUThatIsShortWaits(t *testing.T) {
	for _, tc := range []struct {
		raised    time.Duration
		was, want int64
		says      bool
	}{{15*time.Minute - 1, 10, 10, true}, {15 * time.Minute, 10, 20, false}, {0, 20, 20, false}, {0, 30, 24, false}} {
		tuner, spec := New(), half()
		tuner.State.Phase, tuner.State.Raised, tuner.shares = Working, monday.Add(-tc.raised), map[string]float64{"proxy": 0.02}
		tuner.shared = monday
		o := Observed{Now: monday, Setting: Setting{Requests: map[string]Requests{"app": {1000, 0}, "proxy": {tc.was, 0}}}}
		to := clone(o.Setting)
		tuner.vertical(spec, o, &to)
		if got := to.Requests["proxy"].CPU; got != tc.want {
			t.Errorf("%s after a rise %dm become %dm, want %dm", tc.raised, tc.was, got, tc.want)
		}
		if why := tuner.reasons; len(why) != 1 || strings.HasSuffix(why[0].Text,
			"; it is short, and rises again 15m0s after it last did") != tc.says {
			t.Errorf("%s after a rise, with %dm, it says %v", tc.raised, tc.was, why)
		}
	}
}

// TestOnlyAFallingRequestWaitsForPods checks that only a falling request waits for pods.
func TestOnlyAFallingRequestWaitsForPods(t *testing.T) {
	for _, tc := range []struct {
		behind bool
		wanted int64
		says   bool
	}{{true, 999, true}, {true, 1000, false}, {true, 1001, false}, {false, 999, false}} {
		if got := (pace{behind: tc.behind}).waits(1000, tc.wanted); (got != "") != tc.says {
			t.Errorf("from 1000 to %d, with pods behind %t: %q", tc.wanted, tc.behind, got)
		}
	}
}

// TestWhichChangesAreRises checks that a change counts as a rise if CPU or memory grows.
func TestWhichChangesAreRises(t *testing.T) {
	before := Requests{CPU: 1000, Memory: 1000}
	for after, want := range map[Requests]struct{ changed, raised bool }{
		before:       {false, false},
		{1001, 1000}: {true, true},
		{1000, 1001}: {true, true},
		{999, 1001}:  {true, true},
		{1001, 999}:  {true, true},
		{999, 1000}:  {true, false},
		{1000, 999}:  {true, false},
		{999, 999}:   {true, false},
	} {
		tuner, to := New(), Setting{Requests: map[string]Requests{"app": before}}
		tuner.change(&to, "app", before, after, monday)
		if changed, raised := tuner.State.Resized.Equal(monday), tuner.State.Raised.Equal(monday); changed != want.changed ||
			raised != want.raised || to.Requests["app"] != after {
			t.Errorf("from %v to %v it is changed %t, raised %t", before, after, changed, raised)
		}
	}
}

// TestReplicasComeFirst checks that a request of 1000m falls by a fifth only once six replicas are ready. If the
// maximum
// allows no more replicas, the request stays. It grows at once.
func TestReplicasComeFirst(t *testing.T) {
	tuner, now := steady()
	for _, tc := range []struct {
		reason        string
		age           time.Duration
		wanted        int64
		ready, most   int
		request, next int64
	}{
		{"too soon", time.Hour - 1, 500, 6, 10, 1000, 1000},
		{"as many as are needed are ready", time.Hour, 500, 6, 10, 800, 800},
		{"one less is ready", time.Hour, 500, 5, 10, 800, 1000},
		{"one less is ready, and there may be one more", time.Hour, 500, 5, 7, 800, 1000},
		{"one less is ready, and there may be no more", time.Hour, 500, 5, 6, 1000, 1000},
		{"up", time.Hour, 3000, 0, 10, 2000, 2000},
		{"too little to be worth it", time.Hour, 990, 6, 10, 1000, 1000},
		{"no aim", time.Hour, 0, 6, 10, 1000, 1000},
	} {
		spec := half()
		spec.Bounds = Bounds{Min: 6, Max: tc.most, MinRequest: 50, MaxRequest: 5000}
		tuner.State.Phase, tuner.State.Aim.Request, tuner.State.Resized, tuner.reasons = Working, tc.wanted, now.Add(-tc.age), nil
		if tuner.State.Chosen = now; tc.wanted == 0 {
			tuner.State.Chosen = time.Time{}
		}
		o := Observed{Now: now, Ready: tc.ready, Setting: Setting{Requests: map[string]Requests{"app": {1000, 1 << 30}}}}
		to := clone(o.Setting)
		if got, _ := tuner.request(spec, o, &to, Working.Allowed(), tuner.pace(spec, o)); got != tc.request ||
			to.Requests["app"].CPU != tc.next {
			t.Errorf("%s: the minimum is for %dm, want %dm; the request is %dm, want %dm", tc.reason, got, tc.request, to.Requests["app"].CPU,
				tc.next)
		}
	}
}

// TestReplicasAreWaitedForACooldown checks that the awaited number of replicas does not fall with the demand. After a
// cooldown, the request falls without these replicas.
func TestReplicasAreWaitedForACooldown(t *testing.T) {
	tuner, now := steady()
	spec := half()
	spec.Bounds = Bounds{Min: 1, Max: 20, MinRequest: 50, MaxRequest: 5000}
	tuner.State.Phase, tuner.State.Aim.Request, tuner.State.Resized = Working, 500, now.Add(-time.Hour)
	see(tuner, now, 2000)
	for _, tc := range []struct {
		after   time.Duration
		demand  float64
		request int64
		enough  int
	}{{0, 2000, 1000, 5}, {time.Minute, 800, 1000, 5}, {30 * time.Minute, 2400, 1000, 6}, {time.Hour, 800, 800, 0}} {
		see(tuner, now.Add(tc.after), tc.demand)
		o := Observed{Now: now.Add(tc.after), Ready: 4, Setting: Setting{Requests: map[string]Requests{"app": {1000, 1 << 30}}}}
		to := clone(o.Setting)
		if _, enough := tuner.request(spec, o, &to, Working.Allowed(), tuner.pace(spec, o)); enough != tc.enough ||
			to.Requests["app"].CPU != tc.request {
			t.Errorf("after %s: %d are enough, and it is %dm; want %d and %dm", tc.after, enough, to.Requests["app"].CPU, tc.enough, tc.request)
		}
	}
}

// TestWhenTheNextStepIs checks that the next step comes a cooldown after the last change, if there is a step left. A
// step
// down comes a cooldown after the last pod got the step before.
func TestWhenTheNextStepIs(t *testing.T) {
	spec, never, later := half(), time.Time{}, monday.Add(time.Minute)
	spec.Bounds.MinRequest, spec.Bounds.MaxRequest = 50, 5000
	now := Setting{Requests: map[string]Requests{spec.Scaled: {CPU: 1000}}}
	for _, tc := range []struct {
		reason          string
		wanted          int64
		resized, behind time.Time
		is              bool
		want            time.Time
	}{
		{"on the way down", 500, monday, never, false, monday.Add(spec.Cooldown)},
		{"down, and pods have had the last step before that", 500, later, monday, false, later.Add(spec.Cooldown)},
		{"down, and pods have had the last step since", 500, monday, later, false, later.Add(spec.Cooldown)},
		{"down, and a pod has not", 500, monday, later, true, never},
		{"up, and pods have had the last step since", 1500, monday, later, false, monday.Add(spec.Cooldown)},
		{"up, and a pod has not", 1500, monday, later, true, monday.Add(spec.Cooldown)},
		{"there already", 1000, monday, never, false, never},
		{"nothing is wanted yet", 0, monday, never, false, never},
		{"nothing was set yet", 500, never, never, false, never},
	} {
		tuner := New()
		tuner.State.Aim.Request, tuner.State.Resized, tuner.State.Behind = tc.wanted, tc.resized, tc.behind
		if tc.wanted > 0 {
			tuner.State.Chosen = monday
		}
		if got := tuner.next(spec, Observed{Behind: tc.is}, now); !got.Equal(tc.want) {
			t.Errorf("%s: the next step is at %v, want %v", tc.reason, got, tc.want)
		}
	}
}
