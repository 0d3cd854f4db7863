package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// stops is a night in which schedules are stopped, edited and deleted, beside orders, a freeze and a Trigger.
type stops struct {
	t         *rapid.T
	m         *world.Memory
	now       time.Time
	edits     int64
	schedules map[string]*v1alpha1.Schedule
	orders    []*v1alpha1.Override
	freeze    *v1alpha1.ChangeFreeze
	stopped   map[string]bool
	// kept are the targets that slept for a schedule when it was stopped.
	kept map[string][]workload.Ref
	// levels is true if a schedule leaves some replicas of the Deployment. Then another policy may leave more or less, and its end
	// restores the original.
	levels bool
	events []string
}

// manifests are the objects of the night.
var manifests = map[workload.Ref]string{web: webAt(4), mail: cronJob, kedaScaled: scaledObject}

var deployments = []v1alpha1.KindRef{{Group: web.Group, Kind: web.Kind}}

func newStops(t *rapid.T, m *world.Memory) *stops {
	n := &stops{t: t, m: m, now: evening.Add(-150 * time.Minute), schedules: map[string]*v1alpha1.Schedule{}, stopped: map[string]bool{},
		kept: map[string][]workload.Ref{}, levels: rapid.Bool().Draw(t, "levels")}
	for _, name := range []string{"a", "b", "c"} {
		s := during(name, "18:00", "19:00", int32(rapid.IntRange(-1, 1).Draw(t, "priority")))
		n.move(s)
		if rapid.IntRange(0, 3).Draw(t, "awake otherwise") == 0 {
			s.Spec.Otherwise = ""
		}
		switch rapid.IntRange(0, 5).Draw(t, "asleep as") {
		case 0:
			s.Spec.AsleepAs, s.Spec.Target.Kinds = &v1alpha1.AsleepAs{Percent: new(int32(0))}, deployments
		case 1:
			if n.levels {
				s.Spec.AsleepAs, s.Spec.Target.Kinds = &v1alpha1.AsleepAs{Replicas: new(int64(2))}, deployments
			}
		}
		n.schedules[name] = s
		n.set(s)
	}
	if n.levels && rapid.Bool().Draw(t, "trigger") {
		peak := peakAt(v1alpha1.TriggerValues{Min: new(int64(2)), Max: new(int64(7))})
		peak.Spec.Target.Kinds[0] = v1alpha1.KindRef{Group: kedaScaled.Group, Kind: kedaScaled.Kind}
		n.set(peak)
	}
	if rapid.Bool().Draw(t, "freeze") {
		from := rapid.IntRange(-2, 4).Draw(t, "from")
		n.freeze = lasting(from, from+rapid.IntRange(1, 4).Draw(t, "length"))
		n.set(n.freeze)
	}
	return n
}

// move gives a schedule another window.
func (n *stops) move(s *v1alpha1.Schedule) {
	from := rapid.IntRange(18, 23).Draw(n.t, "from")
	to := rapid.IntRange(from+1, 28).Draw(n.t, "to") % 24
	s.Spec.Asleep[0].From, s.Spec.Asleep[0].To = fmt.Sprintf("%02d:00", from), fmt.Sprintf("%02d:00", to)
}

func (n *stops) set(obj policy.Object) {
	kind, _ := kinds.Find(obj.GetObjectKind().GroupVersionKind().Kind)
	obj = obj.DeepCopyObject().(policy.Object)
	n.edits++
	obj.SetGeneration(n.edits)
	obj.SetFinalizers([]string{v1alpha1.FinalizerRestore})
	n.m.World().Update(func(tx *world.Tx) { tx.SetPolicy(kind, obj) })
	n.m.Snapshot = n.m.World().Snapshot()
}

func (n *stops) remove(id workload.Policy) {
	n.m.World().Update(func(tx *world.Tx) { tx.RemovePolicy(id) })
	n.m.Snapshot = n.m.World().Snapshot()
}

// isAsleep reports whether a target sleeps, or an autoscaler is held.
func (n *stops) isAsleep(ref workload.Ref) bool {
	sign := map[workload.Ref]string{web: `"replicas":0`, mail: `"suspend":true`, kedaScaled: `"autoscaling.keda.sh/paused":"true"`}[ref]
	return strings.Contains(string(n.m.Raw(ref)), sign)
}

// sleepsFor returns the targets that sleep for a schedule: the schedule asks for it, and no other schedule overrules that.
func (n *stops) sleepsFor(name string) (refs []workload.Ref) {
	for _, ref := range []workload.Ref{web, mail} {
		asks, overruled := false, false
		for _, o := range decide.Target(n.m, ref, n.now, nil).Opinions {
			other := n.schedules[o.Policy.ID.Name]
			asks = asks || o.Policy.ID.Name == name && o.Class == workload.ClassSleep
			overruled = overruled || other != nil && o.Class == workload.ClassAwake && other.Spec.Priority >= n.schedules[name].Spec.Priority
		}
		switch {
		case !asks || overruled || !n.isAsleep(ref):
		case ref == mail:
			refs = append(refs, mail)
		case !n.levels:
			refs = append(refs, web, kedaScaled)
		}
	}
	return refs
}

// act lets a person do something.
func (n *stops) act() {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(n.t, "name")
	s := n.schedules[name]
	act := rapid.SampledFrom([]string{"suspend", "suspend", "break", "go on", "delete", "move", "order", "order", "order",
		"end"}).Draw(n.t, "act")
	switch {
	case act == "order":
		name = n.order()
	case act == "end" && len(n.orders) > 0:
		name, n.orders = n.orders[0].Name, n.orders[1:]
		n.remove(workload.Policy{Kind: "Override", Namespace: "shop", Name: name})
	case s == nil:
		return
	case act == "suspend" || act == "break":
		n.stop(name, act == "break")
	case act == "go on" && n.stopped[name]:
		delete(n.stopped, name)
		delete(n.kept, name)
		n.set(s)
	case act == "move" && !n.stopped[name]:
		n.move(s)
		n.set(s)
	case act == "delete":
		delete(n.stopped, name)
		delete(n.kept, name)
		delete(n.schedules, name)
		n.remove(workload.Policy{Kind: "Schedule", Namespace: "shop", Name: name})
	default:
		return
	}
	n.events = append(n.events, fmt.Sprintf("%s %s %s", n.now.Format("15:04"), act, name))
}

// order creates an Override, and returns its name. It ends at no instant at which a person acts.
func (n *stops) order() string {
	effect := rapid.SampledFrom([]v1alpha1.OverrideEffect{v1alpha1.OverrideAsleep, v1alpha1.OverrideAsleep, v1alpha1.OverrideAwake,
		v1alpha1.OverrideHold}).Draw(n.t, "effect")
	o := order(fmt.Sprint(effect, "-", n.edits), effect, 0, rapid.IntRange(1, 4).Draw(n.t, "hours"))
	o.CreationTimestamp, o.Spec.For = metav1.NewTime(n.now), o.Spec.For+"10m"
	if rapid.IntRange(0, 3).Draw(n.t, "narrow") == 0 {
		o.Spec.Target.Kinds = deployments
	}
	n.orders = append(n.orders, o)
	n.set(o)
	return o.Name
}

func (n *stops) stop(name string, broken bool) {
	if !n.stopped[name] {
		n.kept[name] = n.sleepsFor(name)
	}
	n.stopped[name] = true
	s := n.schedules[name].DeepCopy()
	if s.Spec.Suspend = !broken; broken {
		s.Spec.TimeZone = "Nowhere/City"
	}
	n.set(s)
}

// pass lets some time pass, and checks the targets after it.
func (n *stops) pass(length time.Duration) {
	writes, err := decide.Simulate(n.m, n.now, n.now.Add(length-time.Second))
	if err != nil {
		n.t.Fatal(err, n.events)
	}
	for _, w := range writes {
		n.events = append(n.events, fmt.Sprintf("  %s %s %s by %s", w.At.Format("15:04"), w.Target.Name, w.Message, w.By))
	}
	n.now = n.now.Add(length)
	for name, refs := range n.kept {
		for _, ref := range refs {
			if !n.isAsleep(ref) {
				n.t.Fatalf("%s is awake, though %s keeps it:\n%s", ref, name, strings.Join(n.events, "\n"))
			}
		}
	}
	at := n.now.Add(-time.Second)
	if f := n.freeze; f != nil && !at.Before(f.Spec.StartTime.Time) && at.Before(f.Spec.EndTime.Time) && !n.isAsleep(mail) {
		n.t.Fatalf("%s is not suspended in the freeze:\n%s", mail, strings.Join(n.events, "\n"))
	}
}

// Schedules are suspended, broken, edited and deleted beside orders, a freeze and a Trigger, all at random. The targets that sleep for a
// stopped schedule stay asleep, no order passes the suspend of the freeze, and in the end every original comes back.
func TestTargetsOfStoppedSchedulesSleepThroughRandomNights(t *testing.T) {
	all, err := library()
	if err != nil {
		t.Fatal(err)
	}
	few := slices.DeleteFunc(slices.Clone(all), func(a v1alpha1.Adapter) bool {
		return !slices.Contains([]string{worldtest.Deployments, "cronjobs.batch", "scaledobjects.keda.sh"}, a.Name)
	})
	rapid.Check(t, func(rt *rapid.T) {
		n := newStops(rt, memoryOf(t, few, nil, webAt(4), cronJob, scaledObject))
		n.pass(time.Hour)
		for range rapid.IntRange(4, 10).Draw(rt, "hours") {
			for range rapid.IntRange(0, 2).Draw(rt, "acts") {
				n.act()
				n.pass(time.Minute)
			}
			n.now = n.now.Truncate(time.Hour).Add(30 * time.Minute)
			n.pass(time.Hour)
		}
		clear(n.kept)
		n.freeze = nil
		for p := range n.m.Policies {
			n.remove(p.ID)
		}
		n.pass(time.Hour)
		for ref, manifest := range manifests {
			if got := string(n.m.Raw(ref)); ownerOf(t, got) != ownerOf(t, manifest) || strings.Contains(got, v1alpha1.AnnotationLedger) {
				rt.Fatalf("%s comes back as %s\n%s", ref, got, strings.Join(n.events, "\n"))
			}
		}
	})
}
