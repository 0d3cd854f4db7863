package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Control is the object to which policies leave a target, found by controlling owner references: its controller may put
// the target back after a write. The zero Control means: there is none.
type Control struct {
	// By is the controlling object.
	By workload.Ref
	// Via is the autoscaler of the target, if By controls the autoscaler. It is the zero Ref if By controls the target.
	Via workload.Ref
	// Scales is the scale target of an autoscaler, if By controls the scale target. Only policies for sleep leave
	// such an autoscaler alone: its off switch takes the scale target to zero with no original on record.
	Scales workload.Ref
	// Follows is true if By is no controller, but an object by whose sleep the target stops as well (spec.follows of its
	// adapter). Only policies for sleep leave such a target alone.
	Follows bool
	// Frozen is true if a freeze suspends By, the followed object. The suspend of any other freeze leaves the target alone only
	// then, because a policy for sleep may let By run.
	Frozen bool
	// Until is the earliest end of an Override by which By sleeps, or the next transition of a freeze for By. It is zero
	// if other policies alone select By.
	Until time.Time
	// Adapter is the name of the adapter missing for By, or unable to put By to sleep. It is empty if By can sleep itself, or is
	// an unknown Pod.
	Adapter string
	// CannotSleep is true if Adapter exists.
	CannotSleep bool
}

// Exists reports whether policies leave the target to an object.
func (c Control) Exists() bool { return c.By.Name != "" }

// String returns the reason why policies leave the target alone.
func (c Control) String() string {
	by, it, text := fmt.Sprintf("%s/%s", c.By.GroupKind, c.By.Name), "it", ""
	if c.Scales.Name != "" {
		it, text = "that", fmt.Sprintf("it scales %s, and ", c.Scales)
	}
	switch {
	case c.Follows:
		return text + fmt.Sprintf("%s follows %s, which a policy for sleep selects", it, by)
	case c.Adapter == "" && c.By.GroupKind == podKind:
		return text + fmt.Sprintf("%s controls %s, and the controller of this Pod is not known", by, it)
	case c.Adapter == "":
		return text + fmt.Sprintf("%s controls %s: policies act on that object instead", by, it)
	case c.Via.Name != "":
		text += fmt.Sprintf("%s, which controls the autoscaler %s, may wake %s", by, c.Via, it)
	default:
		text += fmt.Sprintf("%s, which controls %s, may put it back", by, it)
	}
	if c.CannotSleep {
		return text + fmt.Sprintf("; the adapter %s cannot put %s to sleep", c.Adapter, by)
	}
	return text + fmt.Sprintf(": put the adapter %s to use", c.Adapter)
}

// ControlOf returns the control of an object (Control).
func ControlOf(w World, k *Kind, obj *workload.Object) Control {
	return decider{w: w}.control(k, obj, w.Autoscalers(k.Ref(obj)))
}

// LeftTo returns the control of a selected object. It is zero if the policy acts on the object.
func LeftTo(w World, p *Policy, k *Kind, obj *workload.Object) Control {
	if c := ControlOf(w, k, obj); p.leaves(k, obj, c) != "" {
		return c
	}
	return Control{}
}

// control returns the control of an object with autoscalers, or of the scale target of an autoscaler. If the owner of the
// scale target sleeps itself, the autoscaler sleeps too, since it would wake the scale target. An object with nothing to put to
// sleep has none.
func (d decider) control(k *Kind, obj *workload.Object, autoscalers []workload.Ref) Control {
	c := d.ownControl(k, obj, autoscalers)
	switch {
	case c.Exists() && k.Adapter.AlreadyAsleep(obj):
		return Control{}
	case c.Exists():
		return c
	}
	tk, governed := d.governed(k, obj)
	if governed == nil {
		return Control{}
	}
	ref := tk.Ref(governed)
	if c = d.ownControl(tk, governed, d.w.Autoscalers(ref)); c.Adapter == "" && !c.Follows {
		return Control{}
	}
	c.Scales = ref
	return c
}

// ownControl returns the control of an object with autoscalers. An object whose own owner does not put it back is left
// alone if the owner of an autoscaler does not sleep: KEDA, for example, wakes the target of its ScaledObject.
func (d decider) ownControl(k *Kind, obj *workload.Object, autoscalers []workload.Ref) Control {
	if c := d.controller(k, obj); c.Exists() {
		return c
	}
	for _, ref := range autoscalers {
		gk, autoscaler := d.w.Kind(ref.GroupKind), d.w.Object(ref)
		if gk == nil || autoscaler == nil || autoscaler.Deleting {
			continue
		}
		if c := d.controller(gk, autoscaler); c.Adapter != "" {
			c.Via = ref
			return c
		}
	}
	return d.followed(k, obj, MaxFollowed)
}

// MaxFollowed is the largest length of a chain of followed objects. It ends a circle.
const MaxFollowed = 3

// followed returns the followed object if a policy for sleep selects it, or an object followed by that one.
func (d decider) followed(k *Kind, obj *workload.Object, most int) Control {
	by, ok := k.Adapter.Follows(obj)
	fk := d.w.Kind(by.GroupKind)
	if !ok || fk == nil || most == 0 {
		return Control{}
	}
	object := d.w.Object(by)
	if object == nil {
		by.Namespace = ""
		object = d.w.Object(by)
	}
	if object == nil || object.Deleting {
		return Control{}
	}
	sleeps := Control{By: by, Follows: true}
	found := false
	labels := d.namespace(object.Namespace).Labels
	d.w.EachPolicyFor(fk.GroupKind, object, labels, d.now, func(p *Policy) {
		over := p.Override != nil && !p.Override.IsActive(d.now)
		if over || !p.putsToSleep() || !p.Selects(fk, object, labels) {
			return
		}
		found = true
		switch {
		case p.Override != nil:
			sleeps.Until = timeline.Earliest(sleeps.Until, p.Override.Until)
		case p.Judge != nil:
			st := p.State(d.now)
			sleeps.Frozen, sleeps.Until = sleeps.Frozen || st.Asleep, timeline.Earliest(sleeps.Until, st.Next)
		}
	})
	if found {
		return sleeps
	}
	return d.followed(fk, object, most-1)
}

// putsToSleep reports whether the policy puts its targets to sleep.
func (p *Policy) putsToSleep() bool {
	return !p.SetsValues() && !p.IsBroken() && slices.ContainsFunc(p.Needs, func(n v1alpha1.Capability) bool {
		return n == v1alpha1.CapabilitySuspend || n == v1alpha1.CapabilityScale
	})
}

// podKind is the kind of pods. A Pod puts nothing back itself.
var podKind = schema.GroupKind{Kind: "Pod"}

// controller returns the control of an object by its controlling owner reference. The direct owner decides, because its
// controller undoes writes. At a Pod the owner of the Pod decides: a leader pod owns the StatefulSet of its workers in
// LeaderWorkerSet.
func (d decider) controller(k *Kind, obj *workload.Object) Control {
	if obj.OwnerReference == nil {
		return Control{}
	}
	by := workload.Ref{GroupKind: obj.OwnerReference.GroupKind, Namespace: obj.Namespace, Name: obj.OwnerReference.Name}
	switch {
	case d.w.Adapts(by.GroupKind) == CanSleep:
		return Control{By: by}
	case by.GroupKind == podKind && obj.OwnerReference.GroupKind != k.GroupKind:
		pods, pod := d.w.Kind(podKind), d.w.Object(by)
		if pods == nil || pod == nil {
			return Control{By: by}
		}
		return d.controller(pods, pod)
	case putsNothingBack(by.GroupKind), k.Adapter.IgnoresController(by.GroupKind):
		return Control{}
	}
	return d.notAsleep(by)
}

// notAsleep returns the control of an object without a way to sleep.
func (d decider) notAsleep(by workload.Ref) Control {
	c := Control{By: by, Adapter: adapterOf(by.GroupKind), CannotSleep: d.w.Adapts(by.GroupKind) == CannotSleep}
	if k := d.w.Kind(by.GroupKind); k != nil {
		c.Adapter = k.Adapter.Name()
	}
	return c
}

// putsNothingBack reports whether a kind of owners never undoes writes to its objects: of the core group only
// ReplicationControllers scale anything, and Flyball's own policies own the objects of their templates.
func putsNothingBack(gk schema.GroupKind) bool {
	return gk.Group == v1alpha1.GroupVersion.Group || gk.Group == "" && gk.Kind != "ReplicationController"
}

// adapterOf returns the name of an adapter of a kind. The plural follows the rules of English, which hold for every kind of
// the library.
func adapterOf(gk schema.GroupKind) string {
	plural := strings.ToLower(gk.Kind)
	stem, isY := strings.CutSuffix(plural, "y")
	switch {
	case isY && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou"):
		plural = stem + "ies"
	case slices.ContainsFunc([]string{"s", "x", "ch", "sh"}, func(end string) bool { return strings.HasSuffix(plural, end) }):
		plural += "es"
	default:
		plural += "s"
	}
	return strings.TrimSuffix(plural+"."+gk.Group, ".")
}

// leaves returns the reason why a policy leaves an object to its control, or "". With the kind and the exact name in its
// lists, a policy acts all the same, unless By has an adapter. So does a policy that orders pods, because no controller puts deletion
// costs back.
func (p *Policy) leaves(k *Kind, obj *workload.Object, c Control) string {
	acts := p.Wants(v1alpha1.CapabilityDeletionCost) || p.Target.ListsObject(k.GroupKind, obj.Name)
	runs := c.Follows && p.Judge != nil && !c.Frozen
	if !c.Exists() || runs || (c.Follows || c.Scales.Name != "") && !p.putsToSleep() || c.Adapter != "" && acts {
		return ""
	}
	return c.String()
}

// Controls counts objects left to controllers without a way to sleep.
type Controls map[Control]int

// Add counts an object. A Control by an object with a way to sleep does not count.
func (c Controls) Add(by Control) {
	if by.Adapter != "" {
		by.By, by.Via, by.Scales = workload.Ref{GroupKind: by.By.GroupKind}, workload.Ref{GroupKind: by.Via.GroupKind},
			workload.Ref{GroupKind: by.Scales.GroupKind}
		c[by]++
	}
}

// Each yields a sentence for each kind of controllers, sorted, with the name of the missing adapter. The name is empty if the
// adapter exists.
func (c Controls) Each(yield func(missing, text string) bool) {
	all := map[string]string{}
	for by, n := range c {
		how := map[bool]string{true: "is", false: "are"}[n == 1]
		switch {
		case by.Scales.Kind != "":
			how = map[bool]string{true: "scales an object", false: "scale objects"}[n == 1]
		case by.Via.Kind != "":
			how = map[bool]string{true: "has an autoscaler", false: "have autoscalers"}[n == 1]
		}
		text := fmt.Sprintf("%s %s controlled by %s", workload.Count(n, "object"), how, by.By.GroupKind)
		if by.CannotSleep {
			all[text+fmt.Sprintf(", and the adapter %s cannot put that to sleep", by.Adapter)] = ""
			continue
		}
		all[text+fmt.Sprintf(": put the adapter %s to use", by.Adapter)] = by.Adapter
	}
	for _, text := range slices.Sorted(maps.Keys(all)) {
		if !yield(all[text], text) {
			return
		}
	}
}
