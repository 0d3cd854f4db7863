package tortoise

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// TestCronKnowsThePeak checks that cron learns the peak. Around 14:00 the minimum is enough for the peak, and at
// night
// it is the owner's minimum.
func TestCronKnowsThePeak(t *testing.T) {
	w := newWorld("diurnal", 2, teachDays+1)
	c, k := newCluster(w, true, w.owner), newCron(w)
	for c.t < len(w.demand) {
		k.tune(c)
		c.step()
		hours := float64(c.t-w.teach) / float64(hour)
		switch {
		case c.t <= w.teach || hours < 3 || hours > 20:
			if c.set.minimum != w.owner.minimum {
				t.Fatalf("%.1f hours after the days that teach the minimum is %d", hours, c.set.minimum)
			}
		case hours > 13 && hours < 15:
			if c.set.minimum != k.peak || k.peak <= w.owner.minimum {
				t.Fatalf("at the peak the minimum is %d, the peak needs %d", c.set.minimum, k.peak)
			}
		}
	}
}

// TestTheOracleIsBelowTheFrontier checks that no fixed setting is as good as the contender that knows the future.
func TestTheOracleIsBelowTheFrontier(t *testing.T) {
	results, err := Run(t.Context(), Options{Families: []string{"noon-spike", "retry-storm"}, Seeds: Seeds[1:2], Days: teachDays + 2,
		Contenders: []string{Fixed, "oracle"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs(results) {
		d := frontierOf([]run{r}).distance(r.by["oracle"].outcome())
		if d.violations >= 1 || d.cost >= 1 {
			t.Errorf("%s: %+v from the frontier", r.name(), d)
		}
	}
}

// TestAdviceIsCarriedOut checks that advice is carried out in running pods or by a roll-out. A number without advice
// has the owner's value.
func TestAdviceIsCarriedOut(t *testing.T) {
	w := newWorld("diurnal", 2, 1)
	requests := map[workload.Amount]int64{
		{Kind: workload.AmountRequest, Component: app, Resource: workload.CPU}:    400,
		{Kind: workload.AmountRequest, Component: app, Resource: workload.Memory}: 512 * mebi,
	}
	targets := map[workload.Amount]int64{{Kind: workload.AmountUtilisation, Component: app, Resource: workload.CPU}: 80}
	least, most := int64(7), int64(250)
	changed := setting{app: 400, side: w.owner.side, memory: 512, minimum: 7, maximum: 250, target: 80}
	c := newCluster(w, true, w.owner)
	for _, step := range []struct {
		reason     string
		advice     workload.Advice
		want       setting
		rollingOut bool
	}{
		{"in place", workload.Advice{InPlace: true, Amounts: requests, Min: &least, Max: &most, Targets: targets}, changed, false},
		{"the same again", workload.Advice{Amounts: requests, Min: &least, Max: &most, Targets: targets}, changed, false},
		{"nothing is asked for any more", workload.Advice{}, w.owner, true},
	} {
		carryOut(c, &step.advice)
		if diff := cmp.Diff(step.want, c.set, cmp.AllowUnexported(setting{})); diff != "" || c.pods[0].old != step.rollingOut {
			t.Errorf("%s: rolling out %t, %s", step.reason, c.pods[0].old, diff)
		}
	}
}

// TestLearnerSeesRequestsReadinessAndStartsOfPods checks that a learner sees what the pods request, how many are
// ready, and how long they took
// to start.
func TestLearnerSeesRequestsReadinessAndStartsOfPods(t *testing.T) {
	w := newWorld("diurnal", 2, 1)
	c := newCluster(w, false, w.owner)
	m := newLearner(w, v1alpha1.TortoiseRules{}, false)
	for range 4 {
		c.step()
	}
	c.pods[0].app, c.pods[0].born, c.pods[0].readyAt = 2000, 1, 3
	c.pods = append(c.pods[:2], pod{born: 3, readyAt: 9, app: 3000, side: 50, memory: 2048})
	m.look(c)
	s := m.seen
	if s.Ready != 2 || s.Requested[app] != 1500 || s.Largest[app] != (workload.Requests{MilliCPU: 3000, MemoryBytes: 2048 * mebi}) ||
		len(s.Started) != 1 || s.Started[0] != 2*tick {
		t.Errorf("it sees %+v", s)
	}
}
