package status

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// lookAgainEvery is the interval of checks for terms without a match while objects and namespaces change.
const lookAgainEvery = 5 * time.Second

// unmatched returns the terms of a policy's selection that match nothing. Objects are searched only if all of
// them are known. idle is true for a policy that may select objects and counts none.
func unmatched(s *world.Snapshot, p *world.Policy, t *counts, known, idle bool) []selector.Unmatched {
	judges := p.Denies()
	selection := p.Selection()
	found := selection.UnknownTerms(s.Inventory())
	if len(found) == 0 && known { // a name may have several objects, so the number of targets proves nothing
		found = selection.UnknownNames(s.Inventory())
	}
	switch {
	case judges:
		found = append(found, p.Target.UnknownSuspends(s.Inventory())...)
	case len(found) == 0 && known && t.total() == 0 && !idle:
		found = append(found, selection.EmptyTerm(s.InventoryFor(p.Needs)))
	}
	return found
}

// fillSelecting sets the condition Selecting. A freeze also selects future objects, so its condition is false only if
// all its names, kinds or namespaces are missing.
func (v *view) fillSelecting(st *v1alpha1.PolicyStatus) {
	c := metav1.Condition{Type: v1alpha1.ConditionSelecting, Status: metav1.ConditionTrue, Reason: "Selected",
		Message:            "every term of the target matches something",
		ObservedGeneration: v.generation, LastTransitionTime: metav1.NewTime(v.now)}
	switch {
	case v.policy.Deleting || v.policy.IsBroken():
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "NotChecked", "the policy selects nothing while it is "+
			choose(v.policy.Deleting, "being deleted", "not valid")
	case v.counts.total() == 0 && len(v.unmatched) == 0 && !v.objectsKnown():
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "NotChecked", join(v.unready, choose(v.listing != "", v.progress(), ""))
	case len(v.unmatched) == 0 && !v.objectsKnown() && v.policy.Selection().NamesListed() > 0:
		c.Message = join("whether each name has an object is not known", v.unready, choose(v.listing != "", v.progress(), ""))
	case len(v.unmatched) > 0:
		c.Reason, c.Message = v.unmatched[0].Reason, Truncate(v.unmatchedText(), 2048)
		if v.selectsNothing() {
			c.Status = metav1.ConditionFalse
		}
	}
	v.addControlled(&c)
	meta.SetStatusCondition(&st.Conditions, c)
}

// addControlled adds the objects left to controllers without an adapter to the condition Selecting. The condition is false
// if these are all objects of the policy.
func (v *view) addControlled(c *metav1.Condition) {
	left := decide.Controls{}
	for _, by := range v.counts.controlled {
		left.Add(by)
	}
	if len(left) == 0 || c.Status == metav1.ConditionUnknown {
		return
	}
	var texts []string
	for _, text := range left.Each {
		texts = append(texts, text)
	}
	c.Message = Truncate(strings.Join(append(texts, c.Message), "; "), 2048)
	if len(v.unmatched) > 0 {
		return
	}
	c.Reason = "Controlled"
	if int(v.counts.total()) == len(v.counts.controlled) {
		c.Status = metav1.ConditionFalse
	}
}

// objectsKnown reports whether all objects that the policy could select are known.
func (v *view) objectsKnown() bool { return v.unready == "" && v.listing == "" }

func (v *view) selectsNothing() bool {
	if v.policy.Denies() {
		return v.policy.Selection().MatchesNothing(v.unmatched)
	}
	return v.counts.total() == 0
}

func (v *view) unmatchedText() string {
	texts := make([]string, len(v.unmatched))
	for i, u := range v.unmatched {
		texts[i] = u.Message
	}
	return strings.Join(texts, "; ")
}

// noteUnmatched records whether a policy has terms that match nothing.
func (b *Tracker) noteUnmatched(id workload.Policy, has bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if has {
		b.unmatched[id] = true
		return
	}
	delete(b.unmatched, id)
}

// Moved schedules a check of the policies with terms that match nothing, because an object or a namespace was created,
// deleted or changed.
func (b *Tracker) Moved() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.unmatched) == 0 || b.looking {
		return
	}
	b.looking = true
	time.AfterFunc(lookAgainEvery, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.looking = false
		for id := range b.unmatched {
			b.setDirty(id)
		}
	})
}
