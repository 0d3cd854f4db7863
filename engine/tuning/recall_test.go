package tuning

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// tapes is a server with a history of one sample every ten minutes, for a container of the target and for a container
// that the target does not have.
type tapes struct {
	from, to time.Time
	err      error
	asked    []measure.Range
}

func (s *tapes) Host() string { return "prometheus:9090" }

func (s *tapes) Read(context.Context, []string, time.Time) (map[types.NamespacedName]measure.Pod, error) {
	return nil, s.err
}

func (s *tapes) History(_ context.Context, r measure.Range) (all []workload.Sample, err error) {
	r.Progress = nil
	s.asked = append(s.asked, r)
	for at := s.from; !at.After(s.to); at = at.Add(10 * time.Minute) {
		if !at.Before(r.From) && !at.After(r.To) {
			all = append(all, workload.Sample{At: at, Container: "app", CPU: 1}, workload.Sample{At: at, Container: "gone", CPU: 1})
		}
	}
	return all, s.err
}

// pupil is a learner that records the times of its samples.
type pupil struct{ at []time.Time }

func (p *pupil) Observe(samples ...workload.Sample) {
	for _, s := range samples {
		p.at = append(p.at, s.At)
	}
}
func (p *pupil) Decide(policy.Seen) policy.Found { return policy.Found{} }
func (p *pupil) Keep() []byte                    { return nil }
func (p *pupil) Backfill(samples []workload.Sample) {
	p.at = nil
	p.Observe(samples...)
}

func (p *pupil) HistoryRange() (first, newest time.Time) {
	if len(p.at) == 0 {
		return first, newest
	}
	return p.at[0], p.at[len(p.at)-1]
}

// asking is a policy that asks for two hours of history.
type asking struct{ policy.Tuner }

func (asking) Source() policy.Source { return policy.Source{Recorded: true, Window: 2 * time.Hour} }

// stand has the loop and the other parts of a test of recall.
type stand struct {
	loop    *Actuator
	tapes   *tapes
	pupil   *pupil
	subject *subject
	clock   *clocktesting.FakePassiveClock
}

func newStand(from, to time.Time) *stand {
	s := &stand{tapes: &tapes{from: from, to: to}, pupil: &pupil{}, clock: clocktesting.NewFakePassiveClock(noon)}
	s.loop = &Actuator{opts: Options{Recorder: s.tapes}, pods: s.clock, recallers: make(chan struct{}, 1)}
	s.subject = &subject{learner: s.pupil, ref: workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop",
		Name: "web"}}
	return s
}

// round calls recall until nothing is being read, and returns how often learning waited.
func (s *stand) round(t *testing.T, now time.Time) (waited int) {
	t.Helper()
	p := &world.Policy{Policy: decide.Policy{Policy: &policy.Policy{Extras: policy.Extras{Tuner: asking{}}}}}
	f := &workload.Fleet{Pods: []*workload.Pod{pod("a", time.Hour, workload.Container{Name: "app"})}}
	for {
		waits := s.loop.recall(t.Context(), p, s.subject, f, policy.Seen{Now: now})
		if waits {
			waited++
		}
		r := s.subject.recalled.running
		if r == nil {
			return waited
		}
		<-r.done
	}
}

// TestAHistoryIsTakenOverOnce: a new target learns nothing before its history, later samples fill a long gap, and
// foreign containers are left out.
func TestAHistoryIsTakenOverOnce(t *testing.T) {
	s := newStand(noon.Add(-24*time.Hour), noon.Add(24*time.Hour))
	if waited := s.round(t, noon); waited != 1 {
		t.Errorf("learning waited %d times", waited)
	}
	if len(s.pupil.at) != 13 || !s.pupil.at[0].Equal(noon.Add(-2*time.Hour)) || !s.subject.recalled.at.Equal(noon) {
		t.Errorf("at %s it has learnt %v", s.subject.recalled.at, s.pupil.at)
	}
	if waited := s.round(t, noon.Add(14*time.Minute)); waited != 0 || len(s.tapes.asked) != 1 {
		t.Errorf("after 14 minutes it waited %d times and asked %v", waited, s.tapes.asked)
	}
	if waited := s.round(t, noon.Add(31*time.Minute)); waited != 1 || len(s.pupil.at) != 16 ||
		!slices.IsSortedFunc(s.pupil.at, time.Time.Compare) {
		t.Errorf("after 31 minutes it waited %d times and has learnt %v", waited, s.pupil.at)
	}
	want := []measure.Range{
		{Namespace: "shop", Pods: "web-[a-z0-9]+-[a-z0-9]{5}", From: noon.Add(-2 * time.Hour), To: noon, Step: time.Minute},
		{Namespace: "shop", Pods: "web-[a-z0-9]+-[a-z0-9]{5}", From: noon.Add(time.Minute), To: noon.Add(31 * time.Minute), Step: time.Minute},
	}
	if diff := cmp.Diff(want, s.tapes.asked); diff != "" {
		t.Error(diff)
	}
	if s.round(t, noon.Add(10*time.Hour)); !s.tapes.asked[2].From.Equal(noon.Add(8 * time.Hour)) {
		t.Errorf("after a gap that is longer than the window it asks from %s on", s.tapes.asked[2].From)
	}
}

// TestAHistoryThatCannotBeRead: the fault is reported, and the history is read again later. Meanwhile learning goes
// on.
// A history that reaches further back than the learnt samples then replaces them.
func TestAHistoryThatCannotBeRead(t *testing.T) {
	s := newStand(noon.Add(-24*time.Hour), noon.Add(24*time.Hour))
	s.tapes.err = errors.New("it is down")
	s.round(t, noon)
	if len(s.pupil.at) > 0 || !strings.Contains(s.subject.troubles(), "it is down") {
		t.Errorf("it has learnt %v and says %q", s.pupil.at, s.subject.troubles())
	}
	s.pupil.Observe(workload.Sample{At: noon})
	s.clock.SetTime(noon.Add(59 * time.Second))
	if s.round(t, noon.Add(time.Minute)); len(s.tapes.asked) != 1 {
		t.Error("it asks again at once")
	}
	s.clock.SetTime(noon.Add(time.Minute))
	s.round(t, noon.Add(time.Minute))
	s.clock.SetTime(noon.Add(2*time.Minute + 59*time.Second))
	if s.round(t, noon.Add(time.Minute)); len(s.tapes.asked) != 2 {
		t.Errorf("after the second time it has asked %d times", len(s.tapes.asked))
	}
	s.tapes.err = nil
	s.clock.SetTime(noon.Add(3 * time.Minute))
	if waited := s.round(t, noon.Add(3*time.Minute)); waited != 0 || len(s.pupil.at) != 12 || s.subject.troubles() != "" {
		t.Errorf("it waited %d times, has learnt %v and says %q", waited, s.pupil.at, s.subject.troubles())
	}
}

// TestLearntSamplesStayIfTheServerHasFewer: learnt samples stay if a server has fewer samples, or none. A missing
// history of a new target
// is no fault; a history without replicas is a fault.
func TestLearntSamplesStayIfTheServerHasFewer(t *testing.T) {
	s := newStand(noon.Add(-time.Hour), noon)
	s.pupil.Observe(workload.Sample{At: noon.Add(-90 * time.Minute)}, workload.Sample{At: noon})
	s.round(t, noon)
	if len(s.pupil.at) != 2 || s.subject.recalled.at.IsZero() {
		t.Errorf("it has learnt %v", s.pupil.at)
	}
	s = newStand(noon, noon.Add(-time.Hour))
	s.tapes.err = &measure.Nothing{Pods: true}
	s.round(t, noon)
	if s.round(t, noon); len(s.tapes.asked) != 1 || s.subject.troubles() != "" || s.subject.recalled.at.IsZero() {
		t.Errorf("of a new target it asked %d times and says %q", len(s.tapes.asked), s.subject.troubles())
	}
	s = newStand(noon, noon.Add(-time.Hour))
	s.tapes.err = &measure.Nothing{What: prometheus.Error{Text: "no replicas"}}
	if s.round(t, noon); !strings.Contains(s.subject.troubles(), "no replicas") || !s.subject.recalled.at.IsZero() {
		t.Errorf("without replicas it says %q", s.subject.troubles())
	}
}
