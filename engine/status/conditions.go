package status

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// maxFailures is how many failed targets a status names.
const maxFailures = 10

// view is all that the status of a policy is made of.
type view struct {
	policy     *world.Policy
	state      policy.State
	now        time.Time
	generation int64
	// remaining is how many objects carry a ledger on behalf of the policy.
	remaining int
	// unready says why objects that the policy selects are left as they are because of an adapter; empty: none is.
	unready string
	tally   tally
}

func (s *Writer) view(snapshot *world.Snapshot, p *world.Policy, state policy.State, now time.Time, generation int64) *view {
	v := &view{policy: p, state: state, now: now, generation: generation, remaining: snapshot.LedgersOf(p.ID), unready: s.Health.unready(snapshot, p)}
	s.Book.read(p.ID, func(t *tally) { v.tally = t.copy() })
	return v
}

// fill writes the part of the status that all policies share. It edits the status given.
func (v *view) fill(st *v1alpha1.PolicyStatus) {
	t := &v.tally
	st.ObservedGeneration = v.generation
	st.State = v.state.Name
	if v.policy.Deleting {
		st.State = "Restoring"
	}
	st.PreviousTransitionTime, st.NextTransitionTime = TimeOf(v.state.Since), TimeOf(v.state.Next)
	st.Targets = &v1alpha1.TargetCounts{
		Asleep: t.counts[Asleep], Awake: t.counts[Awake] + t.counts[Set], AlreadyAsleep: t.counts[AlreadyAsleep],
		Pending: t.counts[Pending], Overridden: t.counts[Overridden], Failed: t.counts[Failed], Unable: t.counts[Unable],
	}
	for _, n := range t.counts {
		st.Targets.Total += n
	}
	st.Failures = nil
	for _, f := range first(t.failures, maxFailures) {
		st.Failures = append(st.Failures, v1alpha1.TargetFailure{
			Kind: f.ref.GroupKind.String(), Namespace: f.ref.Namespace, Name: f.ref.Name, Message: Truncate(f.said, 512)})
	}
	v.fillConditions(st)
}

// fillConditions edits the conditions of the status given.
func (v *view) fillConditions(st *v1alpha1.PolicyStatus) {
	set := func(kind string, is bool, reason, message string) {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: Truncate(message, 2048),
			ObservedGeneration: v.generation, LastTransitionTime: metav1.NewTime(v.now)}
		if is {
			c.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&st.Conditions, c)
	}
	ok, reason, message := v.ready(st.Targets)
	set(v1alpha1.ConditionReady, ok, reason, message)
	if r := v.policy.Reporter(); r != nil {
		set(r.Condition(), v.state.Active != "", v.state.Name, v.state.Message)
	} else {
		set(v1alpha1.ConditionAsleep, v.state.Asleep, v.state.Name, v.state.Message)
	}
	contested, conflicting := len(v.tally.contested) > 0, len(v.tally.conflicts) > 0
	set(v1alpha1.ConditionContested, contested, choose(contested, "OtherWriter", "None"), list(v.tally.contested, "no other writer resets what this policy sets"))
	set(v1alpha1.ConditionConflicting, conflicting, choose(conflicting, "OtherPolicy", "None"), list(v.tally.conflicts, "no other policy asks for something else"))
}

// ready says whether the policy is valid and no target has failed. Work under way does not make it not ready.
func (v *view) ready(n *v1alpha1.TargetCounts) (ok bool, reason, message string) {
	_, judges := v.policy.Extras.(policy.Judge)
	switch {
	case v.policy.Deleting:
		return false, "Restoring", v.restoring()
	case v.policy.Refused != "":
		return false, "FinalizerRefused", v.policy.Refused
	case v.policy.IsBroken():
		return false, "InvalidSpec", v.state.Message
	case n.Failed > 0:
		return false, "TargetsFailed", fmt.Sprintf("%d of %d targets failed: %s", n.Failed, n.Total, list(v.tally.failures, ""))
	case v.unready != "":
		return false, "AdapterNotReady", v.unready
	case v.state.Name == "Suspended":
		return true, "Suspended", v.state.Message
	case n.Pending > 0:
		return true, "Progressing", fmt.Sprintf("%d of %d targets have still to be looked at or changed: %s", n.Pending, n.Total, list(v.tally.waiting, "under way"))
	case n.Total == 0 && judges:
		return true, "AsExpected", v.state.Message
	case n.Unable > 0:
		return true, "AsExpected", fmt.Sprintf("%d targets are as they should be; %d left running, for what is asked cannot be done on them: %s",
			n.Total-n.Unable, n.Unable, list(v.tally.unable, ""))
	default:
		return true, "AsExpected", fmt.Sprintf("%d targets are as they should be", n.Total)
	}
}

// restoring says how far the deletion of the policy has come.
func (v *view) restoring() string {
	message := fmt.Sprintf("being deleted: %d targets have still to be given back", v.remaining)
	if v.remaining == 0 && v.tally.delayed != "" {
		message = "being deleted: " + v.tally.delayed
	}
	if len(v.tally.failures) > 0 {
		message += ": " + list(v.tally.failures, "")
	}
	return message
}

// list says what is the matter with the first few targets.
func list(m map[workload.Ref]string, none string) string {
	if len(m) == 0 {
		return none
	}
	const few = 3
	var parts []string
	for _, n := range first(m, few) {
		parts = append(parts, n.ref.String()+": "+n.said)
	}
	if more := len(m) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

func choose(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// Truncate cuts a text to at most n bytes and says so by three dots.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "..."
}
