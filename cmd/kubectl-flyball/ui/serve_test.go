package ui

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// TestSlowRead checks that a world is shown for its whole time although reading it takes longer than this time.
func TestSlowRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		s := NewServer("0", ServerOptions{Load: func(context.Context) (*source.World, error) {
			reads++
			time.Sleep(2 * fresh)
			return &source.World{}, nil
		}})
		for range 3 {
			if _, _, err := s.current(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if reads != 1 {
			t.Errorf("the world was read %d times for requests at the same instant, want once", reads)
		}
	})
}

// TestVersionShowsEveryChange checks that the version of a world changes with the inputs besides targets and policies.
func TestVersionShowsEveryChange(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(*source.World){
		"nothing":   func(*source.World) {},
		"namespace": func(w *source.World) { w.Namespaces = []*workload.Object{{Name: "shop"}} },
		"label": func(w *source.World) {
			w.Namespaces = []*workload.Object{{Name: "shop", Labels: workload.Pairs{{Key: "team", Value: "a"}}}}
		},
		"annotation": func(w *source.World) {
			w.Namespaces = []*workload.Object{{Name: "shop", Annotations: workload.Pairs{{Key: "team", Value: "a"}}}}
		},
		"adapter": func(w *source.World) { w.Adapters = []*v1alpha1.Adapter{{}} },
		"text":    func(w *source.World) { w.Texts = map[v1alpha1.ConfigMapKey]string{{}: "BEGIN:VCALENDAR"} },
	} {
		w := &source.World{}
		change(w)
		v := version(w)
		if other, ok := seen[v]; ok {
			t.Errorf("the versions of %s and %s are the same", name, other)
		}
		seen[v] = name
	}
}

// TestForgetDropsReports checks that no report from before an action is shown after it.
func TestForgetDropsReports(t *testing.T) {
	s := NewServer("0", ServerOptions{})
	s.reports, s.reportsOf = map[string]made{"": {&page.Report{}, time.Now()}}, "v"
	s.forget()
	if len(s.reports) > 0 {
		t.Error("a report is kept")
	}
}

// flushing is an answer that tells of each flush.
type flushing struct {
	*httptest.ResponseRecorder
	flushes chan string
}

func (f flushing) Flush() { f.flushes <- f.Body.String() }

// TestAWaitingPageSaysHowFarTheSimulationIs checks that a page that waits for its report gets the instants that the simulation reaches.
func TestAWaitingPageSaysHowFarTheSimulationIs(t *testing.T) {
	s := NewServer("0", ServerOptions{Now: time.Now, Zone: time.UTC})
	s.making.Lock() // another request makes the report
	world := &source.World{}
	q := request{s, page.Query{}, time.UTC}
	s.reports, s.reportsOf = map[string]made{q.key(): {&page.Report{}, time.Now()}}, version(world)
	out := flushing{httptest.NewRecorder(), make(chan string)}
	done := make(chan error)
	go func() {
		_, err := s.follow(out, httptest.NewRequest(http.MethodGet, "/", nil), q, world, s.reportsOf)
		done <- err
	}()
	for day := 1; day <= 2; day++ {
		at := time.Date(2037, 5, day, 8, 0, 0, 0, time.UTC)
		for text := ""; !strings.Contains(text, "Simulated until "+at.Format("Mon 2006-01-02")); {
			s.simulated.Store(at.Unix())
			text = <-out.flushes
		}
	}
	s.making.Unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
