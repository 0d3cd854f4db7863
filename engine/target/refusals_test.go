package target

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// soon is how long after the end of an obstacle everything has to be as it should be.
const soon = 30 * time.Second

func TestManyRefusedTargetsShareOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 10_000
		s := newTrial(always("403 Forbidden"))
		defer s.stop()
		s.start(t, manyWebs(many))
		if n := len(s.since()); n > trippedAfter+32 {
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
		const policies, each = 80, 10
		s := newTrial(always("403 Forbidden"))
		defer s.stop()
		s.policy = func(ref workload.Ref) workload.Policy {
			return workload.Policy{Kind: "Schedule", Namespace: ref.Namespace, Name: "nights"}
		}
		var refs []workload.Ref
		for p := range policies {
			for i := range each {
				ref := webs(i)
				ref.Namespace = fmt.Sprint("shop-", p)
				refs = append(refs, ref)
			}
		}
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

// TestObstaclesAreIndependent has targets refused for one reason, and others that have nothing to do with that.
func TestObstaclesAreIndependent(t *testing.T) {
	days := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "days"}
	other := webs(5000)
	other.GroupKind = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	tests := []struct {
		reason string
		ref    workload.Ref
		policy workload.Policy
	}{
		{"another policy", webs(5000), days},
		{"another kind", other, nights},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refs := manyWebs(1000)
				s := newTrial(among("403 Forbidden", refs...))
				defer s.stop()
				s.policy = func(ref workload.Ref) workload.Policy {
					if ref == tc.ref {
						return tc.policy
					}
					return nights
				}
				s.start(t, refs)
				time.Sleep(time.Minute)
				s.queue.Add(tc.ref)
				s.until(t, tc.reason+" is tried at once", 10*writeTakes, func() bool { return len(s.passed) == 1 })
			})
		})
	}
}

// TestOneReasonGoesAndAnotherStays: those that met the one that is gone do not wait for the others.
func TestOneReasonGoesAndAnotherStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refs := manyWebs(200)
		forbidden, invalid := refs[:100], refs[100:]
		without, with := among("403 Forbidden", forbidden...), among("422 Invalid", invalid...)
		s := newTrial(func(ref workload.Ref) string { return without(ref) + with(ref) })
		defer s.stop()
		s.start(t, refs)
		time.Sleep(10 * time.Minute) // each was tried by then, and is known by its reason
		s.change(without)
		s.until(t, "all that were invalid go through", soon, func() bool { return len(s.passed) == len(invalid) })
		s.change(always(""))
		s.until(t, "all go through", soon, func() bool { return len(s.passed) == len(refs) })
	})
}

// TestAReasonThatChangesLeavesNobodyBehind: the one that was let through comes back with another answer.
func TestAReasonThatChangesLeavesNobodyBehind(t *testing.T) {
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

// TestABadTargetHoldsNoGoodOnesBack has targets that are refused for ever, for hours, and then thousands that are not.
func TestABadTargetHoldsNoGoodOnesBack(t *testing.T) {
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
				if bad >= trippedAfter {
					limit = soon // so many were refused that it is tried first whether another one goes through
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

// TestBadTargetsInACrowd has an obstacle go for all but a few.
func TestBadTargetsInACrowd(t *testing.T) {
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

// asked is a queue that writes down what it is asked for.
type asked struct{ refs []workload.Ref }

func (a *asked) after(ref workload.Ref, _ time.Duration) { a.refs = append(a.refs, ref) }

func (a *asked) take() []workload.Ref {
	refs := a.refs
	a.refs = nil
	return refs
}

var forbidden = obstacle{policy: nights, kind: webs(0).GroupKind, reason: "403 Forbidden"}

// refuseThree has three targets refused; one of them is let through.
func refuseThree(t *testing.T) (*refusals, *asked) {
	t.Helper()
	q := &asked{}
	r := newRefusals(time.Second, time.Minute, q.after)
	for i := range 3 {
		if _, waits := r.Waits(webs(i), forbidden, sum); waits {
			t.Fatalf("target %d was not refused yet, and waits", i)
		}
		r.Add(webs(i), forbidden, sum, "no")
	}
	if got := q.take(); len(got) != 1 || got[0] != webs(0) {
		t.Fatalf("let through: %v, want the first", got)
	}
	return r, q
}

func TestForgettingTheOneLetThroughPassesTheTurnOn(t *testing.T) {
	r, q := refuseThree(t)
	r.Forget(webs(2)) // it was not its turn
	if got := q.take(); len(got) != 0 {
		t.Fatalf("let through: %v, though another one is under way", got)
	}
	r.Forget(webs(0))
	if got := q.take(); len(got) != 1 || got[0] != webs(1) {
		t.Fatalf("let through: %v, want the next", got)
	}
	r.Forget(webs(1))
	if got := q.take(); len(got) != 0 || len(r.groups) != 0 || len(r.targets) != 0 {
		t.Errorf("let through: %v; %d groups and %d targets are left", got, len(r.groups), len(r.targets))
	}
}

func TestAnotherChangeIsTriedAtOnce(t *testing.T) {
	r, q := refuseThree(t)
	if why, waits := r.Waits(webs(1), forbidden, sum); !waits || why != "no" {
		t.Errorf("the same change: waits: %t, because %q", waits, why)
	}
	if _, waits := r.Waits(webs(1), forbidden, sum+1); waits {
		t.Error("another change waits")
	}
	days := obstacle{policy: workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "days"}, kind: forbidden.kind}
	if _, waits := r.Waits(webs(2), days, sum); waits {
		t.Error("the change of another policy waits")
	}
	if got := q.take(); len(got) != 0 {
		t.Fatalf("let through: %v, though one is under way", got)
	}
	if _, waits := r.Waits(webs(0), forbidden, sum); waits {
		t.Error("the one that was let through waits")
	}
	r.Add(webs(1), forbidden, sum+1, "no")
	if _, waits := r.Waits(webs(0), forbidden, sum+1); waits {
		t.Error("the one that was let through waits with another change")
	}
	if got := q.take(); len(got) != 1 || got[0] != webs(1) {
		t.Errorf("let through: %v; the turn of the one with another change is lost", got)
	}
}

func TestAKindThatIsForgottenIsTriedAgain(t *testing.T) {
	r, q := refuseThree(t)
	other := forbidden
	other.kind.Kind = "StatefulSet"
	ref := workload.Ref{GroupKind: other.kind, Namespace: "shop", Name: "db"}
	r.Add(ref, other, sum, "no")
	q.take()
	r.ForgetKind(forbidden.kind)
	for i := range 3 {
		if _, waits := r.Waits(webs(i), forbidden, sum); waits {
			t.Errorf("target %d waits", i)
		}
	}
	if r.targets[ref] == nil || len(r.groups) != 1 {
		t.Errorf("another kind was forgotten as well")
	}
}
