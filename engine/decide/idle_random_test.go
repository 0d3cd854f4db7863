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
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// drawUse returns what is known of the use of a target at an instant, and the class that follows under asleepAfter of two hours.
func drawUse(t *rapid.T, now time.Time) (*workload.Use, workload.Class) {
	ago := func(least, most int) time.Time {
		return now.Add(-time.Duration(rapid.IntRange(least, most).Draw(t, "minutes ago")) * time.Minute)
	}
	switch rapid.SampledFrom([]string{"used", "quiet", "nothing", "doubt", "old", "short"}).Draw(t, "use") {
	case "used":
		last := ago(0, 119)
		return &workload.Use{Last: last, Quiet: last, Seen: now}, workload.ClassAwake
	case "quiet":
		return &workload.Use{Quiet: ago(120, 300), Seen: now}, workload.ClassSleep
	case "doubt":
		return &workload.Use{Quiet: ago(120, 300), Seen: now, Doubt: "no series"}, workload.ClassKeep
	case "old":
		return &workload.Use{Quiet: ago(300, 600), Seen: ago(10, 60)}, workload.ClassKeep
	case "short":
		return &workload.Use{Quiet: ago(1, 119), Seen: now}, workload.ClassKeep
	}
	return nil, workload.ClassKeep
}

// A schedule by use is beside orders, a Trigger of the autoscaler and a freeze that suspends a CronJob, at random. An order for sleep or
// for being awake counts while it is in force. Otherwise use wakes, proven silence puts to sleep, and unknown use changes nothing; the
// moment after an order is free then. The freeze suspends the CronJob whatever its use is, and in the end every original comes back.
func TestSleepByUseBesideOtherPolicies(t *testing.T) {
	all, err := library()
	if err != nil {
		t.Fatal(err)
	}
	few := slices.DeleteFunc(slices.Clone(all), func(a v1alpha1.Adapter) bool {
		return !slices.Contains([]string{worldtest.Deployments, "cronjobs.batch", "scaledobjects.keda.sh"}, a.Name)
	})
	rapid.Check(t, func(rt *rapid.T) {
		n := &stops{t: rt, m: memoryOf(t, few, nil, webAt(4), cronJob, scaledObject), now: evening.Add(-3 * time.Hour)}
		byUse := nightly(0)
		byUse.Spec.Upscale, byUse.Spec.Downscale = "", ""
		byUse.Spec.Idle = &v1alpha1.IdleRule{Demand: "rate(requests[2m])", AsleepAfter: "2h"}
		n.set(byUse)
		if rapid.Bool().Draw(rt, "trigger") {
			peak := peakAt(v1alpha1.TriggerValues{Min: new(int64(2)), Max: new(int64(7))})
			peak.Spec.Target.Kinds[0] = v1alpha1.KindRef{Group: kedaScaled.Group, Kind: kedaScaled.Kind}
			n.set(peak)
		}
		if rapid.Bool().Draw(rt, "freeze") {
			n.freeze = lasting(-2, rapid.IntRange(-1, 4).Draw(rt, "end"))
			n.set(n.freeze)
		}
		for range rapid.IntRange(3, 12).Draw(rt, "looks") {
			n.lookAtUse()
		}
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

// lookAtUse lets some time pass, with an order that begins or ends now and then, and checks the targets by what is then known of their
// use.
func (n *stops) lookAtUse() {
	n.now = n.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(n.t, "minutes")) * time.Minute)
	was, effect, ended := n.isAsleep(web), v1alpha1.OverrideEffect(""), false
	switch change := rapid.IntRange(0, 2).Draw(n.t, "order"); {
	case len(n.orders) == 0 && change == 0:
		effects := []v1alpha1.OverrideEffect{v1alpha1.OverrideAsleep, v1alpha1.OverrideAwake, v1alpha1.OverrideHold}
		o := order(fmt.Sprint("order-", n.edits), rapid.SampledFrom(effects).Draw(n.t, "effect"), 0, 23)
		o.CreationTimestamp = metav1.NewTime(n.now)
		n.orders = append(n.orders, o)
		n.set(o)
	case len(n.orders) > 0 && change == 0:
		n.remove(workload.Policy{Kind: "Override", Namespace: "shop", Name: n.orders[0].Name})
		n.orders, ended = nil, true
	}
	if len(n.orders) > 0 {
		effect = n.orders[0].Spec.Effect
	}
	use, class := drawUse(n.t, n.now)
	n.m.SetUses(workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}, world.Uses{web: use, mail: use, kedaScaled: use})
	writes, err := decide.Simulate(n.m, n.now, n.now)
	if err != nil {
		n.t.Fatal(err, n.events)
	}
	n.events = append(n.events, fmt.Sprintf("%s order %q, ended %t, class %v", n.now.Format("15:04"), effect, ended, class))
	for _, w := range writes {
		n.events = append(n.events, fmt.Sprintf("  %s %s by %s", w.Target.Name, w.Message, w.By))
	}
	is, wanted := n.isAsleep(web), was
	switch {
	case effect == v1alpha1.OverrideAsleep || effect == v1alpha1.OverrideAwake:
		wanted = effect == v1alpha1.OverrideAsleep
	case class != workload.ClassKeep:
		wanted = class == workload.ClassSleep
	case ended:
		wanted = is
	}
	if is != wanted {
		n.t.Fatalf("asleep is %t, want %t:\n%s", is, wanted, strings.Join(n.events, "\n"))
	}
	f := n.freeze
	frozen := f != nil && !n.now.Before(f.Spec.StartTime.Time) && n.now.Before(f.Spec.EndTime.Time)
	if suspended := n.isAsleep(mail); frozen && !suspended || !frozen && effect == "" && class != workload.ClassKeep && suspended != is {
		n.t.Fatalf("the CronJob is suspended: %t, in the freeze: %t:\n%s", suspended, frozen, strings.Join(n.events, "\n"))
	}
}
