package world_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// onDaysOf is a freeze on the days of a calendar.
func onDaysOf(name string, effect v1alpha1.FreezeEffect) (*v1alpha1.ChangeFreeze, workload.Policy) {
	f := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "days", UID: "days", Generation: 1}}
	f.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionRollOut}
	f.Spec.Calendars = []v1alpha1.FreezeCalendar{{Name: name, Effect: effect}}
	if effect == v1alpha1.EffectChangesOpen {
		f.Spec.Windows = []v1alpha1.Window{{From: "00:00", To: "24:00"}}
	}
	return f, workload.Policy{Kind: freeze.Kind, Namespace: "shop", Name: "days"}
}

// everywhere returns a freeze as a Cluster freeze.
func everywhere(f *v1alpha1.ChangeFreeze, _ workload.Policy) (*v1alpha1.ClusterChangeFreeze, workload.Policy) {
	all := &v1alpha1.ClusterChangeFreeze{ObjectMeta: f.ObjectMeta}
	all.Namespace = ""
	all.Spec.Target.NamespaceSelector = &metav1.LabelSelector{}
	all.Spec.FreezePeriod, all.Spec.FreezeRules = f.Spec.FreezePeriod, f.Spec.FreezeRules
	return all, workload.Policy{Kind: freeze.ClusterKind, Name: f.Name}
}

// A Cluster freeze also guards the calendars that its calendar includes, directly or through other calendars, even if they do
// not exist yet.
func TestIncludedCalendarsAreGuarded(t *testing.T) {
	w := world.New(selector.Scope{})
	f, _ := everywhere(onDaysOf("a", v1alpha1.EffectFrozen))
	w.Update(func(tx *world.Tx) {
		tx.SetCalendar(including("a", 1, "bb"))
		tx.SetCalendar(including("bb", 1, "ccc"))
		tx.SetCalendar(including("ccc", 1))
		tx.SetCalendar(including("dddd", 1, "ccc"))
		tx.SetPolicy(kind(freeze.ClusterKind), f)
	})
	onDay := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	guards := func(name string, isNew bool) int {
		s := w.Snapshot()
		return len(w.Set().GuardingCalendar(name, s.Including(name), isNew, onDay))
	}
	for name, want := range map[string]int{"a": 1, "bb": 1, "ccc": 1, "dddd": 0, "other": 0} {
		if got := guards(name, false); got != want {
			t.Errorf("%s: %d freezes guard it, want %d", name, got, want)
		}
	}
	w.Update(func(tx *world.Tx) { tx.RemoveCalendar("ccc") })
	if guards("ccc", true) != 1 {
		t.Error("an included calendar can be created without a right, which ends a freeze that holds because it is missing")
	}
	w.Update(func(tx *world.Tx) { tx.RemoveCalendar("a") })
	if guards("a", true) != 0 {
		t.Error("a calendar that only adds frozen days needs a right")
	}
	f, _ = everywhere(onDaysOf("a", v1alpha1.EffectChangesOpen))
	f.Generation = 2
	w.Update(func(tx *world.Tx) { tx.SetPolicy(kind(freeze.ClusterKind), f) })
	if guards("a", true) != 1 {
		t.Error("a missing calendar that opens a freeze can be created without a right")
	}
}

// A freeze of one namespace is compiled again for a new announced denial in the status, and keeps the denial without the calendar.
func TestAnAnnouncedDenialIsRecalled(t *testing.T) {
	w := world.New(selector.Scope{})
	f, id := onDaysOf("a", v1alpha1.EffectFrozen)
	onDay := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w.Update(func(tx *world.Tx) {
		tx.SetCalendar(including("a", 1))
		tx.SetPolicy(kind(freeze.Kind), f)
	})
	f = f.DeepCopy()
	f.Status.Announced = w.Set().Rule(id).Announced(onDay)
	w.Update(func(tx *world.Tx) { tx.SetPolicy(kind(freeze.Kind), f) })
	w.Update(func(tx *world.Tx) { tx.RemoveCalendar("a") })
	rule := w.Set().Rule(id)
	if active, _, until := rule.Active(onDay); !active || !until.Equal(onDay.Add(12*time.Hour)) || !rule.KeepsMore(onDay) {
		t.Errorf("without its calendar: active %t until %s", active, until)
	}
}

// A freeze stays active while its calendar exists and cannot be read: after a broken include, a circle, or a missing
// file. It also stays active after a restart.
func TestAnUnreadableCalendarOpensNoFreeze(t *testing.T) {
	otherDay := time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC)
	key := v1alpha1.ConfigMapKey{Namespace: "ops", Name: "company", Key: "calendar.ics"}
	noFile := including("a", 1)
	noFile.Spec.ICS = &v1alpha1.CalendarICS{ConfigMap: &key}
	for reason, calendars := range map[string][]*v1alpha1.Calendar{
		"an include is missing": {including("a", 1, "bb")},
		"a circle":              {including("a", 1, "bb"), including("bb", 1, "a")},
		"a circle inside":       {including("a", 1, "bb"), including("bb", 1, "ccc"), including("ccc", 1, "bb")},
		"the file is missing":   {noFile},
	} {
		w := world.New(selector.Scope{})
		f, id := onDaysOf("a", v1alpha1.EffectFrozen)
		w.Update(func(tx *world.Tx) {
			tx.SetPolicy(kind(freeze.Kind), f)
			for _, c := range calendars {
				tx.SetCalendar(c)
			}
		})
		rule := w.Set().Rule(id)
		if rule == nil {
			t.Fatalf("%s: no rule", reason)
		}
		if active, _, _ := rule.Active(otherDay); !active {
			t.Errorf("%s: the freeze is open", reason)
		}
		if p := w.Snapshot().Find(id); !p.IsBroken() {
			t.Errorf("%s: what the freeze suspends is not left alone", reason)
		}
		w.Update(func(tx *world.Tx) {
			tx.SetCalendar(including("bb", 9))
			tx.SetCalendar(including("a", 9))
		})
		if active, _, _ := w.Set().Rule(id).Active(otherDay); active || w.Snapshot().Find(id).IsBroken() {
			t.Errorf("%s: the freeze holds after the repair", reason)
		}
	}
	w := world.New(selector.Scope{})
	f, id := onDaysOf("a", v1alpha1.EffectChangesOpen)
	w.Update(func(tx *world.Tx) {
		tx.SetPolicy(kind(freeze.Kind), f)
		tx.SetCalendar(including("a", 1, "bb"))
	})
	if active, _, _ := w.Set().Rule(id).Active(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)); !active {
		t.Error("an unreadable calendar opens a freeze")
	}
}

// The number of includes of includes is limited, because the days of a calendar are read once for each of its
// includes.
func TestIncludesAreBounded(t *testing.T) {
	w := world.New(selector.Scope{})
	at := time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC)
	w.Update(func(tx *world.Tx) {
		for level := range 6 {
			var below []string
			for i := range 16 {
				below = append(below, fmt.Sprintf("c-%d-%d", level+1, i))
			}
			for i := range 16 {
				c := including("a", 1, below...)
				c.Name, c.UID = fmt.Sprintf("c-%d-%d", level, i), ""
				if level == 5 {
					c.Spec.Include = nil
				}
				tx.SetCalendar(c)
			}
		}
	})
	began := time.Now()
	c, _ := w.Snapshot().Calendar("c-0-0")
	c.Days.At(at)
	t.Logf("took %s", time.Since(began))
	if len(c.Invalid) == 0 {
		t.Error("a calendar with a million includes is valid")
	}
	if _, errs := w.Snapshot().CheckCalendar(including("a", 1, "c-0-0")); len(errs) != 1 {
		t.Errorf("at apply: %v", errs)
	}
	if c, _ := w.Snapshot().Calendar("c-4-0"); len(c.Invalid) > 0 {
		t.Errorf("16 includes: %v", c.Invalid)
	}
}

// A calendar that is being deleted counts as deleted. A user could otherwise keep it by a finalizer and remove its
// days at a chosen moment.
func TestACalendarBeingDeletedIsGone(t *testing.T) {
	w := world.New(selector.Scope{})
	c := including("a", 1)
	w.Update(func(tx *world.Tx) { tx.SetCalendar(c) })
	c = c.DeepCopy()
	c.Generation, c.Finalizers, c.DeletionTimestamp = 2, []string{"example.com/wait"}, &metav1.Time{Time: time.Now()}
	w.Update(func(tx *world.Tx) { tx.SetCalendar(c) })
	if got := validity(w, "a"); !slices.Equal(got, []string{"a gone"}) {
		t.Error(got)
	}
}
