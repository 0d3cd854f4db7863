package status

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
)

// announce sends an event where something has happened, and only then.
func (s *Writer) announce(obj policy.Object, old, cur *v1alpha1.PolicyStatus, state policy.State) {
	if s.recorder == nil {
		return
	}
	if old.State != cur.State && cur.State != "" {
		message := state.Message
		if message == "" {
			message = cur.State
		}
		s.recorder.Eventf(obj, nil, corev1.EventTypeNormal, cur.State, "Transition", "%s; %d targets", message, cur.Targets.Total)
	}
	for _, kind := range []string{v1alpha1.ConditionContested, v1alpha1.ConditionConflicting} {
		c := meta.FindStatusCondition(cur.Conditions, kind)
		if c != nil && c.Status == metav1.ConditionTrue && !meta.IsStatusConditionTrue(old.Conditions, kind) {
			s.recorder.Eventf(obj, nil, corev1.EventTypeWarning, kind, "Decide", "%s", c.Message)
		}
	}
	was := meta.FindStatusCondition(old.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(cur.Conditions, v1alpha1.ConditionReady)
	if is.Status == metav1.ConditionFalse && is.Reason != "Restoring" && (was == nil || was.Reason != is.Reason) {
		s.recorder.Eventf(obj, nil, corev1.EventTypeWarning, is.Reason, "Reconcile", "%s", is.Message)
	}
}

// announceHandOver sends an event where one alternative takes over from another and the policy's state stays the same.
func (s *Writer) announceHandOver(obj policy.Object, old, cur *v1alpha1.PolicyStatus, state policy.State, activeBefore string) {
	if s.recorder == nil || old.State != cur.State || activeBefore == "" || state.Active == "" || activeBefore == state.Active {
		return
	}
	s.recorder.Eventf(obj, nil, corev1.EventTypeNormal, "HandedOver", "Transition", "from %s to %s; %d targets", activeBefore, state.Message, cur.Targets.Total)
}
