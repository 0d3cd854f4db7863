package gate

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// soon is the time after the end of an obstacle within which every target must be written.
const soon = 30 * time.Second

func TestManyRefusedTargetsShareOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 10_000
		s := newTrial(always("403 Forbidden"))
		defer s.stop()
		s.start(t, manyWebs(many))
		time.Sleep(time.Second)
		if n := len(s.since()); n > enoughFailures+32 {
			t.Errorf("%d targets are tried in the first round, though all are refused", n)
		}
		time.Sleep(20 * time.Minute)
		tries := s.since()
		if n := most(tries, time.Second); n > probesPerSecond {
			t.Errorf("%d tries within a second", n)
		}
		if len(tries) < 60 {
			t.Errorf("%d tries in 20 minutes: nobody would notice the end of the obstacle", len(tries))
		}
		s.change(always(""))
		took := s.until(t, "all targets go through", soon, func() bool { return len(s.passed) == many })
		t.Logf("all are through after %s", took)
		if n := len(s.since()); n != many {
			t.Errorf("%d tries for %d targets", n, many)
		}
		if len(s.targets) > 0 || len(s.groups) > 0 {
			t.Errorf("%d targets and %d groups are remembered", len(s.targets), len(s.groups))
		}
	})
}

func TestManyObstaclesShareTheProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const namespaces, each = 80, 10
		s := newTrial(always("403 Forbidden"))
		defer s.stop()
		refs := websIn(namespaces, each)
		s.start(t, refs)
		time.Sleep(10 * time.Second) // the first pauses are short
		s.since()
		time.Sleep(10 * time.Minute)
		// A burst of one second's share may come on top.
		if n := most(s.since(), 10*time.Second); n > 11*probesPerSecond {
			t.Errorf("%d tries within ten seconds", n)
		}
		s.change(always(""))
		s.until(t, "all targets go through", soon, func() bool { return len(s.passed) == len(refs) })
	})
}

// There are many more namespaces than probes within the time soon.
func TestTheEndOfAnObstacleIsNoticedInAllNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refs := websIn(2000, 3)
		s := newTrial(always("500 InternalError"))
		defer s.stop()
		s.start(t, refs)
		time.Sleep(10 * time.Minute)
		s.change(always(""))
		s.until(t, "all targets go through", soon, func() bool { return len(s.passed) == len(refs) })
	})
}

// Some targets are refused for one reason; others are not affected.
func TestObstaclesAreIndependent(t *testing.T) {
	elsewhere, other := webs(5000), webs(5000)
	elsewhere.Namespace = "bank"
	other.GroupKind = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	for _, tc := range []struct {
		reason string
		ref    workload.Ref
	}{
		{"another namespace", elsewhere},
		{"another kind", other},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refs := manyWebs(1000)
				s := newTrial(among("403 Forbidden", refs...))
				defer s.stop()
				s.start(t, refs)
				time.Sleep(time.Minute)
				s.queue.Add(tc.ref)
				s.until(t, tc.reason+" is tried at once", 10*writeTakes, func() bool { return len(s.passed) == 1 })
			})
		})
	}
}

// In ten namespaces no write is answered for half a minute, and other namespaces are written in the meantime.
func TestHangingWritesDoNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hung = 10
		s := newTrial(func(ref workload.Ref) string {
			if ref.Namespace == "bank" {
				return ""
			}
			return "no answer"
		})
		defer s.stop()
		s.takes = func(ref workload.Ref) time.Duration {
			if ref.Namespace == "bank" {
				return writeTakes
			}
			return 30 * time.Second
		}
		many := websIn(hung, 100)
		s.start(t, many)
		most := func(limit int) {
			t.Helper()
			s.mu.Lock()
			defer s.mu.Unlock()
			for namespace, n := range s.underWay {
				if n > limit {
					t.Errorf("%d writes are on the way in %s, want at most %d", n, namespace, limit)
				}
			}
		}
		most(fewWrites)
		for round := range 3 {
			others := make([]workload.Ref, 200)
			for i := range others {
				others[i] = webs(1000*round + i)
				others[i].Namespace = "bank"
				s.queue.Add(others[i])
			}
			passed := 200 * (round + 1)
			s.until(t, "all others go through", 2*time.Second, func() bool { return len(s.passed) == passed })
			time.Sleep(5 * time.Minute)
			most(2) // an untried target, and the probe of the obstacle
		}
	})
}

// After one of two obstacles is gone, its targets do not wait for the targets of the other obstacle.
func TestTargetsDoNotWaitForAnotherObstacle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refs := manyWebs(200)
		forbidden, invalid := refs[:100], refs[100:]
		without, with := among("403 Forbidden", forbidden...), among("422 Invalid", invalid...)
		s := newTrial(func(ref workload.Ref) string { return without(ref) + with(ref) })
		defer s.stop()
		s.start(t, refs)
		time.Sleep(10 * time.Minute) // each target was tried by then, and its reason is known
		s.change(without)
		s.until(t, "all that were invalid go through", soon, func() bool { return len(s.passed) == len(invalid) })
		s.change(always(""))
		s.until(t, "all go through", soon, func() bool { return len(s.passed) == len(refs) })
	})
}

// A probe fails for a different reason than before.
func TestAChangedReasonLeavesNoTargetBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 1000
		s := newTrial(always("403 Forbidden"))
		defer s.stop()
		s.start(t, manyWebs(many))
		time.Sleep(time.Minute)
		for range 3 {
			s.change(always("403 Forbidden"))
			time.Sleep(time.Minute)
			s.change(always("no answer"))
			time.Sleep(time.Minute)
		}
		s.change(always(""))
		s.until(t, "all targets go through", soon, func() bool { return len(s.passed) == many })
	})
}

// Some targets are refused for ever, for hours, and then thousands of good targets arrive.
func TestRefusedTargetsDoNotDelayAcceptedTargets(t *testing.T) {
	for _, bad := range []int{1, 3, 60} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const many = 5000
				refs := manyWebs(many + bad)
				s := newTrial(among("422 Invalid", refs[many:]...))
				defer s.stop()
				s.start(t, refs[many:])
				time.Sleep(5 * time.Hour)
				s.since()
				good := refs[:many]
				for _, ref := range good {
					s.queue.Add(ref)
				}
				limit := many * writeTakes / 16 * 2
				if bad >= enoughFailures {
					limit = soon // after so many refusals, one new target is tried first
				}
				s.until(t, "all good targets go through", limit, func() bool { return len(s.passed) == many })
				for _, ref := range refs[many:] {
					own := s.of(ref)
					if n := most(own, time.Second); n > 2 {
						t.Errorf("%s is tried %d times within a second of the others' passing", ref.Name, n)
					}
				}
				time.Sleep(time.Minute)
				s.since()
				time.Sleep(time.Hour)
				if n := most(s.since(), time.Second); n > probesPerSecond {
					t.Errorf("%d tries of bad targets within a second", n)
				}
			})
		})
	}
}

// An obstacle ends for all targets except a few.
func TestAnObstacleThatEndsForMostTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refs := manyWebs(5000)
		bad := []workload.Ref{refs[0], refs[77], refs[4999]}
		s := newTrial(always("403 Forbidden"))
		defer s.stop()
		s.start(t, refs)
		time.Sleep(10 * time.Minute)
		s.since()
		s.change(among("403 Forbidden", bad...))
		s.until(t, "all others go through", soon, func() bool { return len(s.passed) == len(refs)-len(bad) })
		time.Sleep(time.Minute)
		for _, ref := range bad {
			own := s.of(ref)
			if n := most(own, time.Second); n > probesPerSecond {
				t.Errorf("%s is tried %d times within a second", ref.Name, n)
			}
		}
		s.change(always(""))
		s.until(t, "the last ones go through", soon, func() bool { return len(s.passed) == len(refs) })
	})
}

// asked is a queue that keeps the queued targets.
type asked struct{ refs []workload.Ref }

func (a *asked) after(ref workload.Ref, _ time.Duration) { a.refs = append(a.refs, ref) }

func (a *asked) take() []workload.Ref {
	refs := a.refs
	a.refs = nil
	return refs
}

// websIn returns Deployments in several namespaces.
func websIn(namespaces, each int) []workload.Ref {
	var refs []workload.Ref
	for n := range namespaces {
		for i := range each {
			ref := webs(i)
			ref.Namespace = fmt.Sprint("shop-", n)
			refs = append(refs, ref)
		}
	}
	return refs
}

const reason = "403 Forbidden"

// refuseThree returns obstacles with three refused targets. The first target is in flight again.
func refuseThree(t *testing.T) (*Obstacle, *asked) {
	t.Helper()
	q := &asked{}
	o := NewObstacle(time.Second, time.Minute, q.after, nothing)
	for i := range 3 {
		if _, _, ok := o.ask(webs(i), sum); !ok {
			t.Fatalf("target %d was not refused yet, and waits", i)
		}
		o.failed(webs(i), reason, sum, "no", true)
	}
	if got := q.take(); len(got) != 1 || got[0] != webs(0) {
		t.Fatalf("let through: %v, want the first", got)
	}
	return o, q
}

func TestALeavingTargetPassesItsTurnOn(t *testing.T) {
	o, q := refuseThree(t)
	o.drop(webs(2)) // this target was not in flight
	if got := q.take(); len(got) != 0 {
		t.Fatalf("let through: %v, though another one is under way", got)
	}
	o.drop(webs(0))
	if got := q.take(); len(got) != 1 || got[0] != webs(1) {
		t.Fatalf("let through: %v, want the next", got)
	}
	o.drop(webs(1))
	if got := q.take(); len(got) != 0 || len(o.groups) != 0 || len(o.targets) != 0 {
		t.Errorf("let through: %v; %d groups and %d targets are left", got, len(o.groups), len(o.targets))
	}
}

func TestAnotherChangeIsTriedAtOnce(t *testing.T) {
	o, q := refuseThree(t)
	if why, failed, ok := o.ask(webs(1), sum); ok || !failed || why != "no" {
		t.Errorf("the same change: let through: %t, failed: %t, because %q", ok, failed, why)
	}
	if _, _, ok := o.ask(webs(1), sum+1); !ok {
		t.Error("another change waits")
	}
	if got := q.take(); len(got) != 0 {
		t.Fatalf("let through: %v, though one is under way", got)
	}
	if _, _, ok := o.ask(webs(0), sum); !ok {
		t.Error("the one that was let through waits")
	}
	o.failed(webs(1), reason, sum+1, "no", true)
	if _, _, ok := o.ask(webs(0), sum+1); !ok {
		t.Error("the one that was let through waits with another change")
	}
	if got := q.take(); len(got) != 1 || got[0] != webs(2) {
		t.Errorf("let through: %v; the turn of the one with another change is lost", got)
	}
}

func TestAForgottenKindIsTriedAgain(t *testing.T) {
	o, q := refuseThree(t)
	ref := webs(0)
	ref.Kind = "StatefulSet"
	o.ask(ref, sum)
	o.failed(ref, reason, sum, "no", true)
	q.take()
	o.ForgetKind(webs(0).GroupKind)
	for i := range 3 {
		if _, _, ok := o.ask(webs(i), sum); !ok {
			t.Errorf("target %d waits", i)
		}
	}
	if o.targets[ref] == nil {
		t.Errorf("another kind was forgotten as well")
	}
	o.ForgetKind(webs(0).GroupKind)
	o.failed(webs(0), reason, sum, "no", true) // the write was in flight
	if got := q.take(); len(got) != 1 || got[0] != webs(0) || len(o.targets) != 2 {
		t.Errorf("let through: %v, want the one that failed; %d targets are known", got, len(o.targets))
	}
}

// The second failure of a target or of an obstacle counts; a refusal counts at once.
func TestTheSecondFailureCounts(t *testing.T) {
	o := NewObstacle(time.Second, time.Minute, (&asked{}).after, nothing)
	fail := func(i int, reason string, refusal bool) (answer string, told, first bool) {
		o.ask(webs(i), sum)
		return o.failed(webs(i), reason, sum, "no", refusal)
	}
	for _, test := range []struct {
		target      int
		reason      string
		refusal     bool
		answer      string
		told, first bool
	}{
		{0, "500", false, "to be tried again: no", false, false},
		{0, "504", false, "no", true, true},                      // the same target, for another reason
		{1, "500", false, "to be tried again: no", false, false}, // target 0 now belongs to the other obstacle
		{2, "500", false, "no", true, true},
		{1, "500", false, "no", true, false},
		{3, "403", true, "no", true, true},
		{4, "403", true, "no", true, false},
	} {
		if answer, told, first := fail(test.target, test.reason, test.refusal); answer != test.answer || told != test.told ||
			first != test.first {
			t.Errorf("target %d, %s: %q, told: %t, first: %t", test.target, test.reason, answer, told, first)
		}
	}
	if why, failed, ok := o.ask(webs(1), sum); ok || !failed || why != "no" {
		t.Errorf("target 1: %q, failed: %t, let through: %t", why, failed, ok)
	}
}
