package adapter

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

var incident, third = workload.Policy{Kind: "Trigger", Namespace: "shop", Name: "incident"},
	workload.Policy{Kind: "ClusterTrigger", Name: "third"}

// resumed is a size of the policy peaks that was set before, in a window that has been interrupted since.
func resumed(n int64) workload.Plan {
	p := once(n, time.Time{})
	p.Size.Resumed = true
	return p
}

func of(p workload.Plan, by workload.Policy) workload.Plan {
	p.Size.By = by
	return p
}

// TestSetOnceByTurns has several policies ask for a size by turns: each is honoured once for every window and value.
func TestSetOnceByTurns(t *testing.T) {
	type step struct {
		reason string
		// scaled is a count that the autoscaler sets first; empty: none.
		scaled string
		plan   workload.Plan
		want   string
	}
	midnight, begun := monday.Add(-9*time.Hour), monday
	tests := []struct {
		reason string
		steps  []step
	}{
		{"another policy's window began earlier", []step{
			{"the window begins", "", once(6, begun), "6"},
			{"another policy is made", "", of(once(30, midnight), incident), "30"},
			{"the autoscaler scales", "20", of(once(30, midnight), incident), "20"},
			{"handed back", "", once(6, begun), "20"},
			{"the autoscaler scales", "12", once(6, begun), "12"},
			{"and once more to the other", "", of(once(30, midnight), incident), "12"},
			{"the other's next window", "", of(once(30, midnight.Add(24*time.Hour)), incident), "30"},
			{"handed back", "", once(6, begun), "30"},
			{"the next window", "", once(6, begun.Add(24*time.Hour)), "6"},
		}},
		{"another policy that asks for the same", []step{
			{"the window begins", "", once(6, begun), "6"},
			{"the autoscaler scales", "9", once(6, begun), "9"},
			{"another policy is made", "", of(once(6, midnight), incident), "6"},
			{"the autoscaler scales", "9", of(once(6, midnight), incident), "9"},
			{"handed back", "", once(6, begun), "9"},
		}},
		{"an edit moves the window's start back", []step{
			{"the window begins", "", once(6, begun), "6"},
			{"the autoscaler scales", "9", once(6, begun), "9"},
			{"the start alone", "", once(6, midnight), "9"},
			{"the size as well", "", once(7, midnight.Add(-time.Hour)), "7"},
		}},
		{"an edit while another policy is in force", []step{
			{"the window begins", "", once(6, begun), "6"},
			{"another policy", "", of(once(30, midnight), incident), "30"},
			{"handed back with another size", "", once(7, begun), "7"},
		}},
		{"a policy that has never been honoured, at the end of two others", []step{
			{"the window begins", "", once(6, begun), "6"},
			{"another policy", "", of(once(30, midnight), incident), "30"},
			{"handed back", "", once(6, begun), "30"},
			{"a third", "", of(once(4, midnight), third), "4"},
			{"handed back again", "8", once(6, begun), "8"},
			{"to the second", "", of(once(30, midnight), incident), "8"},
		}},
		{"an interrupted window of one policy", []step{
			{"the window begins", "", once(6, begun), "6"},
			{"another policy", "", of(once(30, midnight), incident), "30"},
			{"a higher trigger of the first one", "", once(9, begun.Add(time.Hour)), "9"},
			{"its lower one resumes", "7", resumed(6), "7"},
			{"the other policy resumes", "", of(once(30, midnight), incident), "7"},
			{"the lower one resumes again", "", resumed(6), "7"},
			{"an edit takes the higher trigger out of the past", "", once(6, begun), "6"},
		}},
		{"one that resumes after sleep gives back what was taken", []step{
			{"asleep", "", sleep(), "0"},
			{"resumed", "", resumed(6), "3"},
			{"the autoscaler scales", "5", resumed(6), "5"},
		}},
		{"one that resumes where nothing was set", []step{
			{"resumed", "", resumed(6), "3"},
			{"another policy", "", of(once(4, begun), third), "4"},
		}},
	}
	for _, kind := range []string{deploymentYAML, scaledYAML} {
		a := mustCompile(t, kind, Keys{})
		for _, tc := range tests {
			t.Run(a.GroupKind().Kind+"/"+tc.reason, func(t *testing.T) {
				s := newServer(object(`{"replicas":3}`))
				for _, step := range tc.steps {
					if step.scaled != "" {
						s.set("/spec/replicas", step.scaled)
					}
					s.settle(t, a, step.plan)
					if want := `{"replicas":` + step.want + `}`; s.spec() != want {
						t.Fatalf("%s: %s, want %s; the ledger is %+v", step.reason, s.spec(), want, s.ledger(t, a))
					}
				}
				s.settle(t, a, workload.Plan{})
				if l := s.ledger(t, a); len(l) > 0 {
					t.Errorf("nobody asks any more, and the ledger is %+v", l)
				}
			})
		}
	}
}

// TestInterruptedWritesThatWereLost loses the write to /scale that follows the write of the ledger, while other claims
// take over.
func TestInterruptedWritesThatWereLost(t *testing.T) {
	a := mustCompile(t, scaledYAML, Keys{})
	lose := func(s *server, p workload.Plan) {
		t.Helper()
		if err := s.apply(rendered(t, a, s.doc, p).Patch); err != nil {
			t.Fatal(err)
		}
	}
	later := monday.Add(time.Hour)
	t.Run("a claim whose write was lost has not been honoured", func(t *testing.T) {
		s := newServer(object(`{"replicas":3}`))
		lose(s, once(6, monday))
		s.settle(t, a, of(once(30, later), incident))
		s.settle(t, a, once(6, monday))
		if want := `{"replicas":6}`; s.spec() != want {
			t.Errorf("got %s, want %s", s.spec(), want)
		}
	})
	t.Run("what was taken for sleep is not left behind", func(t *testing.T) {
		s := newServer(object(`{"replicas":3}`))
		s.settle(t, a, sleep())
		lose(s, once(6, monday))
		s.settle(t, a, resumed(6))
		if want := `{"replicas":3}`; s.spec() != want {
			t.Errorf("got %s, want %s", s.spec(), want)
		}
	})
}

// TestManyInterruptionsStaySmall checks that many interruptions do not make an entry large.
func TestManyInterruptionsStaySmall(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	s := newServer(object(`{"replicas":3}`))
	for i := range int64(20) {
		s.settle(t, a, of(once(i, monday), workload.Policy{Kind: "Trigger", Namespace: "shop", Name: "p" + path.Integer(i)}))
	}
	if l := s.ledger(t, a); len(l) != 1 || len(l[0].Interrupted) > 1000 {
		t.Errorf("the ledger has grown to %+v", l)
	}
	e := workload.Entry{Once: "6", By: "Trigger/shop/peaks", Interrupted: `"spoilt"`}
	if e.WasSet(workload.Once{By: "x", Asked: "6"}) || e.HandOnce(workload.Once{By: "x", Asked: "7"}, true).By != "x" {
		t.Error("a spoilt text is remembered")
	}
}
