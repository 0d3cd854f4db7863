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

// maxNote is the maximum length of an event's note, in bytes: the API server refuses longer notes.
const maxNote = 1024

// cut ends a shortened note.
const cut = "... (the status has the rest)"

// DryRunMark begins the notes of events in a dry run.
const DryRunMark = "dry run: "

// CutNotes returns a recorder that turns each note into one printable line within the API server's limit, behind a mark.
func CutNotes(r events.EventRecorder, mark string) events.EventRecorder { return cutter{r, mark} }

type cutter struct {
	events.EventRecorder
	mark string
}

// Eventf implements events.EventRecorder.
func (c cutter) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	text := c.mark + fmt.Sprintf(note, args...)
	if line := workload.OneLine(text, 4*maxNote); len(line) <= maxNote {
		text = line
	} else {
		text = strings.ToValidUTF8(line[:maxNote-len(cut)], "") + cut
	}
	c.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", text)
}

// announcement is an event about a transition. The event counts targets, so it waits until all of them were decided.
type announcement struct{ reason, message string }

// transition returns the announcement for the change from an old to a current status; nil: none.
func (v *view) transition(old, cur *v1alpha1.PolicyStatus, activeBefore string) *announcement {
	switch {
	case old.State != cur.State && cur.State != "":
		return &announcement{cur.State, cmp.Or(v.state.Message, cur.State)}
	case old.State == cur.State && activeBefore != "" && v.state.Active != "" && activeBefore != v.state.Active:
		// One alternative takes over from another, but the policy's state stays the same.
		return &announcement{"HandedOver", "from " + activeBefore + " to " + v.state.Message}
	}
	return nil
}

// counted returns the number of targets, in total and by state.
func (t *counts) counted() string {
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

// announceTransition sends the event about a transition once every target was decided. If another transition follows
// before that, the event is sent at once, with incomplete counts.
func (s *Writer) announceTransition(obj policy.Object, v *view, next *announcement) {
	id := v.policy.ID
	s.mu.Lock()
	owed := s.owed[id]
	var now []*announcement
	if owed != nil && (next != nil || v.isComplete()) {
		now = append(now, owed)
		delete(s.owed, id)
	}
	switch {
	case next == nil:
	case v.isComplete():
		now = append(now, next)
	default:
		s.owed[id] = next
	}
	s.mu.Unlock()
	if s.recorder == nil {
		return
	}
	for _, a := range now {
		s.recorder.Eventf(obj, nil, corev1.EventTypeNormal, a.reason, "Transition", "%s; %s", v.qualified(a.message), v.counts.counted())
	}
}

// isComplete reports whether every known target was decided, and whether the enforcement of a freeze was checked.
func (v *view) isComplete() bool {
	return v.policy.Deleting || v.counts.undecided == 0 && v.listing == "" && (!v.judges || v.known)
}

// announce sends events for the changes between two statuses.
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

// AnnounceDropped sends events about ledger entries that were dropped without a restore. One event is about the object,
// and one is about each policy involved.
func (s *Writer) AnnounceDropped(v *decide.Verdict) {
	if s.recorder == nil || len(v.Result.Ignored) == 0 {
		return
	}
	ref := v.Kind.Ref(v.Object)
	message := fmt.Sprintf("entries of the annotation %s on %s were dropped without a restore: %s. No adapter writes the field, or one "+
		"of its parents is no longer an object",
		v1alpha1.AnnotationLedger, ref, strings.Join(v.Result.Ignored, ", "))
	on := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: v.Object.Namespace, Name: v.Object.Name,
		UID: types.UID(v.Object.UID)}}
	on.SetGroupVersionKind(v.Kind.Resource.GroupVersion().WithKind(v.Kind.Kind))
	s.recorder.Eventf(on, nil, corev1.EventTypeWarning, "LedgerEntryDropped", "Decide", "%s", message)
	snapshot := s.world.Snapshot()
	for _, o := range v.Opinions {
		if p := snapshot.Find(o.Policy.ID); p != nil {
			// The event is related to the object. Otherwise events that differ only in the note would count as
			// repetitions.
			s.recorder.Eventf(p.Object, on, corev1.EventTypeWarning, "LedgerEntryDropped", "Decide", "%s", message)
		}
	}
}

// oneLine makes the texts of a state printable, because users choose the names of windows, days and triggers in them.
func oneLine(state policy.Summary) policy.Summary {
	state.Message, state.Active = workload.OneLine(state.Message, 2048), workload.OneLine(state.Active, 253)
	return state
}
