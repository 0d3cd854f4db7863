package status

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// maxNote is how long the note of an event may be, in bytes: the API server refuses longer ones.
const maxNote = 1024

// cut ends a note that was cut.
const cut = "... (the status has the rest)"

// CutNotes gives a recorder whose notes are one printable line, as short as the API server asks.
func CutNotes(r events.EventRecorder) events.EventRecorder { return cutter{r} }

type cutter struct{ events.EventRecorder }

// Eventf implements events.EventRecorder.
func (c cutter) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	text := fmt.Sprintf(note, args...)
	if line := workload.OneLine(text, 4*maxNote); len(line) <= maxNote {
		text = line
	} else {
		text = strings.ToValidUTF8(line[:maxNote-len(cut)], "") + cut
	}
	c.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", text)
}

// announcement is an event on a transition. It counts targets, and so it waits until all of them were looked at.
type announcement struct{ reason, message string }

// transition says what is to be announced of a status that follows another one; nil: nothing.
func (v *view) transition(old, cur *v1alpha1.PolicyStatus, activeBefore string) *announcement {
	switch {
	case old.State != cur.State && cur.State != "":
		return &announcement{cur.State, cmp.Or(v.state.Message, cur.State)}
	case old.State == cur.State && activeBefore != "" && v.state.Active != "" && activeBefore != v.state.Active:
		// One alternative takes over from another and the policy's state stays the same.
		return &announcement{"HandedOver", "from " + activeBefore + " to " + v.state.Message}
	}
	return nil
}

// counted says how many targets there are, and what they are in.
func (t *tally) counted() string {
	text := workload.Count(t.total(), "target")
	var parts []string
	for s := Awake; s < stateCount; s++ {
		if n := t.counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(stateNames[s], "_", " ")))
		}
	}
	if len(parts) == 0 {
		return text
	}
	return text + ": " + strings.Join(parts, ", ")
}

// announceTransition sends the event on a transition once every target was looked at. One that another overtakes is told as far as it
// came.
func (s *Writer) announceTransition(obj policy.Object, v *view, next *announcement) {
	id := v.policy.ID
	s.mu.Lock()
	owed := s.owed[id]
	var now []*announcement
	if owed != nil && (next != nil || v.looked()) {
		now = append(now, owed)
		delete(s.owed, id)
	}
	switch {
	case next == nil:
	case v.looked():
		now = append(now, next)
	default:
		s.owed[id] = next
	}
	s.mu.Unlock()
	if s.recorder == nil {
		return
	}
	for _, a := range now {
		s.recorder.Eventf(obj, nil, corev1.EventTypeNormal, a.reason, "Transition", "%s; %s", v.qualified(a.message), v.tally.counted())
	}
}

// looked says whether every target that is known was looked at, and of a freeze whether it is enforced.
func (v *view) looked() bool {
	return v.policy.Deleting || v.tally.unseen == 0 && v.listing == "" && (!v.judges || v.known)
}

// announce sends an event where something has happened, and only then.
func (s *Writer) announce(obj policy.Object, v *view, old, cur *v1alpha1.PolicyStatus) {
	if s.recorder == nil {
		return
	}
	for _, kind := range []string{v1alpha1.ConditionContested, v1alpha1.ConditionConflicting} {
		c := meta.FindStatusCondition(cur.Conditions, kind)
		if c != nil && c.Status == metav1.ConditionTrue && !meta.IsStatusConditionTrue(old.Conditions, kind) {
			s.recorder.Eventf(obj, nil, corev1.EventTypeWarning, kind, "Decide", "%s", c.Message)
		}
	}
	before := meta.FindStatusCondition(old.Conditions, v1alpha1.ConditionAnnotationIgnored)
	if c := meta.FindStatusCondition(cur.Conditions, v1alpha1.ConditionAnnotationIgnored); c != nil && (before == nil || before.Message != c.Message) {
		s.recorder.Eventf(obj, nil, corev1.EventTypeWarning, c.Type, "Decide", "%s", c.Message)
	}
	was := meta.FindStatusCondition(old.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(cur.Conditions, v1alpha1.ConditionReady)
	switch {
	case is.Status != metav1.ConditionFalse:
	case v.policy.Deleting:
		if v.held && (was == nil || was.Message != is.Message) {
			s.recorder.Eventf(obj, nil, corev1.EventTypeWarning, "DeletionWaits", "Delete", "%s", is.Message)
		}
	case was == nil || was.Reason != is.Reason:
		s.recorder.Eventf(obj, nil, corev1.EventTypeWarning, is.Reason, "Reconcile", "%s", is.Message)
	}
}

// AnnounceDropped sends an event about ledger entries that went without being carried out: to the object, and to each policy that has to do with it.
func (s *Writer) AnnounceDropped(v *decide.Verdict) {
	if s.recorder == nil || len(v.Result.Ignored) == 0 {
		return
	}
	ref := v.Kind.Ref(v.Object)
	message := fmt.Sprintf("entries of the annotation %s on %s were dropped and not carried out: %s. No adapter writes there, or something on the way is no object any more",
		v1alpha1.AnnotationLedger, ref, strings.Join(v.Result.Ignored, ", "))
	on := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: v.Object.Namespace, Name: v.Object.Name, UID: types.UID(v.Object.UID)}}
	on.SetGroupVersionKind(v.Kind.Resource.GroupVersion().WithKind(v.Kind.Kind))
	s.recorder.Eventf(on, nil, corev1.EventTypeWarning, "LedgerEntryDropped", "Decide", "%s", message)
	snapshot := s.world.Snapshot()
	for _, o := range v.Opinions {
		if p := snapshot.Find(o.Policy.ID); p != nil {
			// Related to the object: events that differ in the note alone are taken for repetitions.
			s.recorder.Eventf(p.Object, on, corev1.EventTypeWarning, "LedgerEntryDropped", "Decide", "%s", message)
		}
	}
}

// oneLine makes what users see of a state printable: names in it are those that people give to windows, days and triggers.
func oneLine(state policy.State) policy.State {
	state.Message, state.Active = workload.OneLine(state.Message, 2048), workload.OneLine(state.Active, 253)
	return state
}
