package world_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

var (
	noon        = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}
)

func kind(name string) policy.Row {
	k, ok := kinds.Find(name)
	if !ok {
		panic("there is no kind " + name)
	}
	return k
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "1", Generation: 1, Finalizers: []string{v1alpha1.FinalizerRestore}}
}

// nights is a Schedule that names calendars.
func nights(calendars ...string) *v1alpha1.Schedule {
	s := &v1alpha1.Schedule{ObjectMeta: meta("shop", "nights")}
	s.Spec.Downscale, s.Spec.Upscale = "0 20 * * *", "0 8 * * *"
	for _, name := range calendars {
		s.Spec.Calendars = append(s.Spec.Calendars, v1alpha1.CalendarRef{Name: name, Effect: v1alpha1.EffectAsleep})
	}
	return s
}

func idOf(k string, obj metav1.Object) workload.Policy {
	return workload.Policy{Kind: k, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func holidays(generation int64, date string) *v1alpha1.Calendar {
	c := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: "holidays", UID: "c", Generation: generation}}
	c.Spec.Dates = []v1alpha1.CalendarDate{{Date: date}}
	return c
}

func update(w *world.World, steps ...func(*world.Tx)) *world.Change {
	return w.Update(func(tx *world.Tx) {
		for _, step := range steps {
			step(tx)
		}
	})
}

func useKind(t testing.TB, name, version string) (func(*world.Tx), *world.Live) {
	t.Helper()
	k := worldtest.Kind(t, name)
	if version != "" {
		k.Resource.Version = version
	}
	live := world.NewLive(k.Adapter)
	live.Objects = &worldtest.Store{}
	return func(tx *world.Tx) { tx.UseKind(&world.LiveKind{Kind: k, Live: live}) }, live
}

// permuted runs steps in every order. It runs each order once in a single transaction, and once with a transaction
// for each step, each time in a new World.
func permuted(t *testing.T, steps []func(*world.Tx), check func(t *testing.T, w *world.World)) {
	var orders func(done, left []int)
	orders = func(done, left []int) {
		if len(left) == 0 {
			for _, together := range []bool{true, false} {
				t.Run(fmt.Sprint(done, together), func(t *testing.T) {
					w := world.New(selector.Scope{})
					var all []func(*world.Tx)
					for _, i := range done {
						all = append(all, steps[i])
						if !together {
							update(w, steps[i])
						}
					}
					if together {
						update(w, all...)
					}
					check(t, w)
				})
			}
			return
		}
		for i, step := range left {
			orders(append(slices.Clone(done), step), slices.Delete(slices.Clone(left), i, i+1))
		}
	}
	var all []int
	for i := range steps {
		all = append(all, i)
	}
	orders(nil, all)
}

func valid(t *testing.T, w *world.World, id workload.Policy) {
	t.Helper()
	p := w.Snapshot().Find(id)
	if p == nil {
		t.Fatalf("there is no %s", id)
	}
	if p.IsBroken() {
		t.Errorf("%s is not valid: %v", id, p.Invalid)
	}
}

func TestPolicyAndCalendarMayArriveInAnyOrder(t *testing.T) {
	s := nights("holidays")
	id := idOf("Schedule", s)
	set := func(tx *world.Tx) { tx.SetPolicy(kind("Schedule"), s) }
	calendar := func(tx *world.Tx) { tx.SetCalendar(holidays(1, "2026-12-25")) }
	edited := func(tx *world.Tx) {
		next := s.DeepCopy()
		next.Generation, next.Spec.Priority = 2, 5
		tx.SetPolicy(kind("Schedule"), next)
	}
	permuted(t, []func(*world.Tx){set, calendar, edited}, func(t *testing.T, w *world.World) { valid(t, w, id) })

	w := world.New(selector.Scope{})
	update(w, set)
	if !w.Snapshot().Find(id).IsBroken() {
		t.Error("a policy is valid though its calendar is not there")
	}
	if c := update(w, calendar); len(c.Policies) != 1 || c.Policies[0].ID != id || !c.Policies[0].Old.IsBroken() {
		t.Errorf("the calendar came: %+v", c)
	}
	valid(t, w, id)
	if c := update(w, calendar); len(c.Policies) != 0 {
		t.Errorf("the same calendar again: %+v", c.Policies)
	}
	update(w, func(tx *world.Tx) {
		if errs := tx.SetCalendar(holidays(2, "the day after")); len(errs) == 0 {
			t.Error("days that nobody can read are taken")
		}
	})
	if !w.Snapshot().Find(id).IsBroken() {
		t.Error("a policy is valid though its calendar cannot be read")
	}
	update(w, func(tx *world.Tx) { tx.SetCalendar(holidays(3, "2026-12-26")) })
	valid(t, w, id)
	update(w, func(tx *world.Tx) { tx.RemoveCalendar("holidays") })
	if !w.Snapshot().Find(id).IsBroken() {
		t.Error("a policy is valid though its calendar is gone")
	}
}

// made is a Trigger that creates an autoscaler. It is valid if the adapter has the version of the template.
func made() *v1alpha1.Trigger {
	five := int64(5)
	tr := &v1alpha1.Trigger{ObjectMeta: meta("shop", "peaks")}
	tr.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}}
	tr.Spec.Triggers = []v1alpha1.TimeTrigger{{Name: "noon", Window: v1alpha1.Window{From: "11:00", To: "13:00"},
		During: v1alpha1.TriggerValues{Min: &five}}}
	tr.Spec.Template = &runtime.RawExtension{Raw: []byte(worldtest.Autoscaler("web", "web", 1, 9, ""))}
	return tr
}

func TestPolicyAndAdapterMayArriveInAnyOrder(t *testing.T) {
	tr := made()
	id := idOf("Trigger", tr)
	set := func(tx *world.Tx) { tx.SetPolicy(kind("Trigger"), tr) }
	old, _ := useKind(t, worldtest.Autoscalers, "v1")
	current, _ := useKind(t, worldtest.Autoscalers, "v2")
	w := world.New(selector.Scope{})
	update(w, old, set)
	if !w.Snapshot().Find(id).IsBroken() {
		t.Fatal("a template of another version than the adapter's is valid")
	}
	update(w, current)
	valid(t, w, id)
	permuted(t, []func(*world.Tx){set, current}, func(t *testing.T, w *world.World) { valid(t, w, id) })
	permuted(t, []func(*world.Tx){set, func(tx *world.Tx) { old(tx); current(tx) }}, func(t *testing.T, w *world.World) { valid(t, w, id) })
}

// A policy and its calendar are added at the same time, again and again.
func TestConcurrentTransactions(t *testing.T) {
	s := nights("holidays")
	for range 200 {
		w := world.New(selector.Scope{})
		var both sync.WaitGroup
		both.Go(func() { update(w, func(tx *world.Tx) { tx.SetPolicy(kind("Schedule"), s) }) })
		both.Go(func() { update(w, func(tx *world.Tx) { tx.SetCalendar(holidays(1, "2026-12-25")) }) })
		both.Wait()
		valid(t, w, idOf("Schedule", s))
	}
}

func TestStatusUpdatesChangeNoPolicy(t *testing.T) {
	w := world.New(selector.Scope{})
	s := nights()
	update(w, func(tx *world.Tx) { tx.SetPolicy(kind("Schedule"), s) })
	before := w.Snapshot().Find(idOf("Schedule", s))
	next := s.DeepCopy()
	next.ResourceVersion, next.Status.State = "2", "Asleep"
	c := update(w, func(tx *world.Tx) { tx.SetPolicy(kind("Schedule"), next) })
	if len(c.Policies)+len(c.Kinds)+len(c.Calendars) != 0 || c.Keys || c.Judging {
		t.Errorf("a new status changes %+v", c)
	}
	after := w.Snapshot().Find(idOf("Schedule", s))
	if after.Object != policy.Object(next) || after.Policy.Policy != before.Policy.Policy {
		t.Error("want the newer object with the compiled form that it had")
	}
	next = next.DeepCopy()
	next.Generation = 2
	if c := update(w, func(tx *world.Tx) { tx.SetPolicy(kind("Schedule"), next) }); len(c.Policies) != 1 {
		t.Errorf("a new spec changes %+v", c)
	}
}

// Two policies read the same annotation.
func TestAnnotationKeysAreCounted(t *testing.T) {
	w := world.New(selector.Scope{})
	with := func(name string, kinds ...v1alpha1.KindRef) func(*world.Tx) {
		s := nights()
		s.Name = name
		s.Spec.Target.Annotations, s.Spec.Target.Kinds = map[string]string{"team": name}, kinds
		return func(tx *world.Tx) { tx.SetPolicy(kind("Schedule"), s) }
	}
	without := func(name string) func(*world.Tx) {
		return func(tx *world.Tx) { tx.RemovePolicy(workload.Policy{Kind: "Schedule", Namespace: "shop", Name: name}) }
	}
	jobs := schema.GroupKind{Group: "batch", Kind: "CronJob"}
	sets := func(tx *world.Tx) {
		s := nights()
		s.Name = "c"
		s.Spec.AsleepAs = &v1alpha1.AsleepAs{Annotations: map[string]string{"quiet": "yes"}}
		tx.SetPolicy(kind("Schedule"), s)
	}
	for _, step := range []struct {
		what      string
		do        func(*world.Tx)
		keys      bool
		web, job  []string
		quietKeys []string
	}{
		{"the first comes", with("a", v1alpha1.KindRef{Group: "apps", Kind: "Deployment"}), true, []string{"team"}, nil, nil},
		{"the second comes, of all kinds", with("b"), true, []string{"team"}, []string{"team"}, nil},
		{"a third comes, alike", with("e"), false, []string{"team"}, []string{"team"}, nil},
		{"the third goes", without("e"), false, []string{"team"}, []string{"team"}, nil},
		{"the first goes", without("a"), true, []string{"team"}, []string{"team"}, nil},
		{"one comes that sets another", sets, true, []string{"team"}, []string{"team"}, []string{"quiet"}},
		{"the second goes", without("b"), true, nil, nil, []string{"quiet"}},
		{"the last goes", without("c"), true, nil, nil, nil},
		{"one that was never there goes", without("d"), false, nil, nil, nil},
	} {
		if c := update(w, step.do); c.Keys != step.keys {
			t.Errorf("%s: other keys: %t, want %t", step.what, c.Keys, step.keys)
		}
		s := w.Snapshot()
		if got := s.Keys(deployments); !slices.Equal(got.Match, step.web) || !slices.Equal(got.Set, step.quietKeys) {
			t.Errorf("%s: of Deployments %v, want %v and %v", step.what, got, step.web, step.quietKeys)
		}
		if got := s.Keys(jobs).Match; !slices.Equal(got, step.job) {
			t.Errorf("%s: of CronJobs %v, want %v", step.what, got, step.job)
		}
	}
}

// Whether a freeze of a cluster-scoped kind is readable depends on the API server's discovery of the kind. A freeze
// read once continues to count while discovery is missing, and an unreadable freeze is read once discovery works.
func TestFreezesCountWhileTheirKindIsUndiscovered(t *testing.T) {
	served := true
	w := world.New(selector.Scope{ClusterScoped: func(schema.GroupKind) bool { return served }})
	id := workload.Policy{Kind: freeze.ClusterKind, Name: "nodes"}
	obj := &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: "nodes", UID: "1", Generation: 1}}
	obj.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "pools.example.com", Kind: "NodePool"}}
	obj.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionScale}
	obj.Spec.StartTime, obj.Spec.EndTime = metav1.NewTime(noon), metav1.NewTime(noon.AddDate(0, 0, 1))
	version := 0
	see := func(what string, obj policy.Object, want bool) {
		t.Helper()
		version++
		update(w, func(tx *world.Tx) {
			if obj != nil {
				tx.SetPolicy(kind(freeze.ClusterKind), obj)
				return
			}
			tx.SetAdapter(&v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "nodepools.pools.example.com", Generation: int64(version)}},
				world.MayBeServed)
		})
		if got := w.Set().Rule(id) != nil; got != want {
			t.Errorf("%s: the freeze counts: %t, want %t", what, got, want)
		}
	}
	see("at first", obj, true)
	served = false
	see("seen again while the kind is not served", obj.DeepCopy(), true)
	edited := obj.DeepCopy()
	edited.Generation = 2
	see("edited meanwhile", edited, false)
	see("an adapter changes, the kind is not served", nil, false)
	served = true
	see("an adapter changes, the kind is served again", nil, true)
	served = false
	other := edited.DeepCopy()
	other.UID, other.Generation = "2", 2
	see("another one of the name", other, false)
}

// A listener that is notified finds the new freeze in the world.
func TestFreezesArePublishedBeforeListenersAreNotified(t *testing.T) {
	w := world.New(selector.Scope{})
	if w.Ready(nil) == nil || w.Snapshot().Freezes() != nil {
		t.Error("ready before anything was read")
	}
	told := w.Listen()
	var wg sync.WaitGroup
	wg.Go(func() {
		<-told
		if err := w.Ready(nil); err != nil {
			t.Errorf("told before it was ready: %v", err)
		}
	})
	w.MarkLoaded()
	wg.Wait()
	<-w.Loaded()
}

// policyNothing is a policy that selects nothing.
func policyNothing(id workload.Policy) decide.Policy {
	return decide.Policy{Policy: policy.Broken(id, nil)}
}
