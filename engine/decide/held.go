package decide

import (
	"fmt"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// HeldBy is the claimant of a hold by the annotation flyball.dev/hold-until, in the place of a policy. No policy has this
// ID, so the fields are restored as soon as the claim ends.
var HeldBy = workload.Policy{Kind: "Annotation", Name: "hold-until"}

// Asked is a hold that the annotation flyball.dev/hold-until asks for. The zero Asked asks for nothing.
type Asked struct {
	// Until is the end of the hold. It is zero if the hold is over or ignored.
	Until time.Time
	// Ignored is the reason why the annotation has no effect; empty: it has one, or there is none.
	Ignored string
}

// HoldOf returns the hold that the annotation of an object asks for at an instant.
func HoldOf(w World, ref workload.Ref, now time.Time) Asked {
	k, obj := w.Kind(ref.GroupKind), w.Object(ref)
	if k == nil || obj == nil {
		return Asked{}
	}
	return decider{w: w, now: now}.asked(k, obj)
}

// asked returns the hold that the annotation of an object asks for at the present instant.
func (d decider) asked(k *Kind, obj *workload.Object) Asked {
	text := obj.Annotations.Get(v1alpha1.AnnotationHoldUntil)
	if text == "" {
		return Asked{}
	}
	until, err := timeline.ParseUntil(text, time.UTC)
	switch {
	case err != nil:
		return Asked{Ignored: fmt.Sprintf("annotation %s: %v", v1alpha1.AnnotationHoldUntil, err)}
	case !d.now.Before(until) || d.asksNone(k, obj) || d.namespace(obj.Namespace).Unknown:
		return Asked{}
	case d.controller(k, obj).Exists():
		return Asked{Ignored: fmt.Sprintf("annotation %s: %s", v1alpha1.AnnotationHoldUntil, d.controller(k, obj))}
	case !k.Adapter.Observe(obj).CanHold:
		return Asked{Ignored: fmt.Sprintf("annotation %s: the adapter %s has no hold that fits the object", v1alpha1.AnnotationHoldUntil,
			k.Adapter.Name())}
	}
	return Asked{Until: until}
}

// claim returns the claim of a hold. It beats every priority, and corrects changes of other writers until its end.
func (a Asked) claim() []workload.Intent {
	if a.Until.IsZero() {
		return nil
	}
	return []workload.Intent{{By: HeldBy, Class: workload.ClassSet, Override: true, Enforce: true, Hold: true,
		Reason: v1alpha1.AnnotationHoldUntil}}
}

// addTo adds the step of the hold to a story.
func (a Asked) addTo(story *Story) {
	switch {
	case a.Ignored != "":
		story.add("hold-until", "ignored: "+a.Ignored)
	case !a.Until.IsZero():
		story.add("hold-until", "held until "+a.Until.Format(time.RFC3339))
	}
}
