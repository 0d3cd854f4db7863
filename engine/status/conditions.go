package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// maxNamed is the number of targets named in a list of the status. few is the number of targets named in a message.
const (
	maxNamed = 10
	few      = 3
)

// view has all inputs of a policy's status.
type view struct {
	policy     *world.Policy
	state      policy.Summary
	now        time.Time
	generation int64
	// held is true if an obstacle stops the deletion of the policy until a user acts.
	held bool
	// unready is the reason, in an adapter, why the policy's objects are not changed; empty: none.
	unready string
	// listing names the kinds being listed for the first time; empty: none.
	listing string
	// judges is true if the policy judges changes. unenforced is the reason why denied changes may pass; empty: no
	// reason. It is valid only if known is true.
	judges, known bool
	unenforced    string
	// shut are the texts about the maintenance windows that are never open together with the policy.
	shut []string
	// fault is the message about a fault of an actuator, and faultReason is the reason of the condition. Both are empty
	// without a fault.
	fault, faultReason string
	// lost is about the lost events of the policy's calendars, and about the missing calendars of a freeze; empty: none.
	lost string
	// unmatched are the terms of the selection that match nothing.
	unmatched []selector.Unmatched
	// owners are the owners of the targets, if the policy holds owners.
	owners []world.Owner
	// holders is true if a kind of owners is in use.
	holders bool
	counts  counts
	// dryRun is true if the manager writes nothing to targets.
	dryRun bool
}

func (s *Writer) view(snapshot *world.Snapshot, p *world.Policy, now time.Time, generation int64) *view {
	v := &view{policy: p, state: oneLine(p.State(now)), now: now, generation: generation, dryRun: s.opts.DryRun}
	v.unready, v.listing = s.opts.Health.unready(snapshot, p)
	v.owners, v.holders = snapshot.OwnersOf(p), snapshot.HoldsOwners()
	v.lost = strings.Join(snapshot.LostWarnings(p.Policy.Policy, p.Calendars), "; ")
	s.tracker.read(p.ID, func(t *counts) { v.counts = t.copy() })
	if !p.Deleting && !p.IsBroken() {
		v.unmatched = unmatched(snapshot, p, &v.counts, v.objectsKnown(), v.idle() != "")
	}
	if p.Deleting {
		// A deleted policy has no further transitions.
		v.state = policy.Summary{Name: "Restoring", Since: p.Object.GetDeletionTimestamp().Time}
		var remaining []workload.Ref
		snapshot.EachLedgerOf(p.ID, func(ref workload.Ref) { remaining = append(remaining, ref) })
		v.restore(remaining)
	}
	return v
}

// prove records whether denied changes are in fact denied.
func (v *view) prove(e Enforcement) {
	if v.judges = v.policy.Denies(); !v.judges || e == nil {
		v.judges = false
		return
	}
	v.unenforced, v.known, v.judges = e.Unenforced(v.policy)
	v.shut = e.NeverOpen(v.policy.ID)
}

// fill writes the common part of all policies' status. It edits the given status.
func (v *view) fill(st *v1alpha1.PolicyStatus) {
	t := &v.counts
	st.ObservedGeneration = v.generation
	st.State = v.state.Name
	st.PreviousTransitionTime, st.NextTransitionTime = TimeOf(v.state.Since), TimeOf(v.state.Next)
	st.Targets = &v1alpha1.TargetCounts{
		Total: t.total(), Asleep: t.counts[Asleep], Awake: t.counts[Awake], Set: t.counts[Set], AlreadyAsleep: t.counts[AlreadyAsleep],
		FallingAsleep: t.counts[FallingAsleep],
		Pending:       t.counts[Pending], Overridden: t.counts[Overridden], Failed: t.counts[Failed], Unable: t.counts[Unable],
	}
	st.Failures, st.Overridden, st.Waiting = namesOf(t.failures), namesOf(t.overridden), namesOf(t.waiting)
	st.FallingAsleep = namesOf(t.falling)
	v.fillConditions(st)
}

// namesOf returns the first few targets with their messages.
func namesOf(m map[workload.Ref]string) (list []v1alpha1.TargetFailure) {
	for _, n := range first(m, maxNamed) {
		list = append(list, v1alpha1.TargetFailure{Kind: n.ref.GroupKind.String(), Namespace: n.ref.Namespace, Name: n.ref.Name,
			Message: workload.OneLine(n.said, 512)})
	}
	return list
}

// fillConditions edits the conditions of the given status.
func (v *view) fillConditions(st *v1alpha1.PolicyStatus) {
	put := func(kind string, is metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: kind, Status: is, Reason: reason, Message: workload.OneLine(message, 2048),
			ObservedGeneration: v.generation, LastTransitionTime: metav1.NewTime(v.now)})
	}
	set := func(kind string, is bool, reason, message string) {
		put(kind, choose(is, metav1.ConditionTrue, metav1.ConditionFalse), reason, message)
	}
	if ok, reason, message := v.ready(); ok && v.judges && !v.known {
		put(v1alpha1.ConditionReady, metav1.ConditionUnknown, "NotProbed", "enforcement has not been checked yet; "+message)
	} else {
		set(v1alpha1.ConditionReady, ok, reason, message)
	}
	if r := v.policy.Reporter; r != nil {
		set(r.Condition(), v.state.Active != "", v.state.Name, v.stateMessage())
	} else {
		set(v1alpha1.ConditionAsleep, v.state.Asleep, v.state.Name, v.state.Message)
	}
	v.fillSelecting(st)
	v.fillOwners(st, put)
	if v.lost != "" {
		put(v1alpha1.ConditionEventsIgnored, metav1.ConditionTrue, "Unreadable", v.lost)
	} else {
		meta.RemoveStatusCondition(&st.Conditions, v1alpha1.ConditionEventsIgnored)
	}
	if v.dryRun {
		put(v1alpha1.ConditionDryRun, metav1.ConditionTrue, "NothingWritten", dryRunMessage)
	} else {
		meta.RemoveStatusCondition(&st.Conditions, v1alpha1.ConditionDryRun)
	}
	contested := len(v.counts.contested) > 0
	set(v1alpha1.ConditionContested, contested, choose(contested, "OtherWriter", "None"),
		list(v.counts.contested, "no other writer resets what this policy sets"))
	switch {
	case len(v.shut) > 0:
		set(v1alpha1.ConditionConflicting, true, "NeverOpen", join(firstFew(v.shut), list(v.counts.conflicts, "")))
	case len(v.counts.conflicts) > 0:
		set(v1alpha1.ConditionConflicting, true, "OtherPolicy", list(v.counts.conflicts, ""))
	default:
		reason := choose(len(v.counts.overruled) > 0, "Overruled", "None")
		set(v1alpha1.ConditionConflicting, false, reason, list(v.counts.overruled, "no other policy asks for something else"))
	}
}

// dryRunMessage says the meaning of a status in a dry run.
const dryRunMessage = "the manager runs with --dry-run: it writes nothing to targets, pods and owners, and refuses no change; " +
	"this status says what would be"

// firstFew joins the first few texts, and adds the number of the other texts.
func firstFew(texts []string) string {
	if more := len(texts) - few; more > 0 {
		texts = append(texts[:few:few], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// stateMessage returns the message about the state of the policy, qualified if the state is not enforced.
func (v *view) stateMessage() string { return v.qualified(v.state.Message) }

// qualified returns the message of a state. If the state is not enforced, the message says so.
func (v *view) qualified(message string) string {
	if v.unenforced != "" && !v.policy.Deleting {
		return join(message, "not enforced: "+v.unenforced)
	}
	return message
}

// ready reports whether the policy is valid and no target has failed. Unfinished work does not make a policy unready.
func (v *view) ready() (ok bool, reason, message string) {
	t := &v.counts
	failed, pending := t.counts[Failed], t.counts[Pending]
	judges := v.policy.Denies()
	switch {
	case v.policy.Deleting:
		return false, "Restoring", v.state.Message
	case v.policy.Refused != "":
		return false, "FinalizerRefused", v.policy.Refused
	case v.policy.IsBroken():
		return false, "InvalidSpec", v.state.Message
	case v.fault != "": // it may be why targets have failed
		return false, v.faultReason, join(v.fault, v.failed())
	case failed > 0:
		return false, "TargetsFailed", v.failed()
	case v.unenforced != "":
		return false, "NotEnforced", v.unenforced
	case v.unready != "":
		return false, "AdapterNotReady", v.unready
	case v.state.Name == "Suspended":
		return true, "Suspended", join(v.state.Message, v.progress(), v.falling(), v.paused())
	case pending > 0 || v.listing != "" || t.counts[FallingAsleep] > 0:
		return true, "Progressing", join(v.progress(), v.falling(), v.paused())
	case t.total() == 0 && judges:
		return true, "AsExpected", v.state.Message
	default:
		return true, "AsExpected", join(v.summary(), v.paused())
	}
}

// failed returns the message about failed targets; empty: none.
func (v *view) failed() string {
	t := &v.counts
	if t.counts[Failed] == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s failed: %s", t.counts[Failed], workload.Count(t.total(), "target"), list(t.failures, ""))
}

// progress returns the message about unfinished work; empty: none.
func (v *view) progress() string {
	t, listing := &v.counts, ""
	if v.listing != "" {
		listing = "the first list of " + v.listing + " is under way"
	}
	pending, total := t.counts[Pending], t.total()
	if pending == 0 {
		return listing
	}
	return join(fmt.Sprintf("%d of %s %s still to be looked at or changed: %s", pending, workload.Count(total, "target"),
		choose(pending == 1, "has", "have"),
		list(t.waiting, "under way")), listing)
}

// falling returns the message about targets falling asleep; empty: none.
func (v *view) falling() string {
	n := v.counts.counts[FallingAsleep]
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s %s falling asleep: %s", n, workload.Count(v.counts.total(), "target"), choose(n == 1, "is", "are"),
		list(v.counts.falling, ""))
}

// paused returns the message about targets whose controllers do not act; empty: none.
func (v *view) paused() string {
	n := len(v.counts.paused)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("pods of %s do not follow, because their controllers do not act: %s", workload.Count(n, "target"),
		list(v.counts.paused, ""))
}

// summary returns the message about the targets of a policy without unfinished work.
func (v *view) summary() string {
	t := &v.counts
	fine := t.total() - t.counts[Unable] - t.counts[Overridden]
	message := "no target is selected"
	switch {
	case t.total() == 0 && len(v.unmatched) > 0:
		return join(message, v.unmatchedText())
	case t.total() == 0 && v.idle() != "":
		return v.idle()
	case t.total() > 0 && fine == 0:
		message = "no target is as it should be"
	case fine == 1:
		message = "1 target is as it should be"
	case fine > 1:
		message = fmt.Sprintf("%d targets are as they should be", fine)
	}
	if n := t.counts[Awake]; n > 0 && v.state.Asleep {
		message = join(message, fmt.Sprintf("%d kept awake", n))
	}
	if n := t.counts[Overridden]; n > 0 {
		message = join(message, fmt.Sprintf("%d overridden: %s", n, list(t.overridden, "")))
	}
	if n := t.counts[Unable]; n > 0 {
		message = join(message, fmt.Sprintf("%d left alone, because they cannot be put to the claimed state: %s", n, list(t.unable, "")))
	}
	return message
}

// idle returns the reason why an Override has no targets although it may select objects; empty: no such reason.
func (v *view) idle() string {
	switch o := v.policy.Override; {
	case o == nil:
		return ""
	case !o.IsActive(v.now):
		return v.state.Message
	case o.Effect == v1alpha1.OverrideAwake:
		return "no schedule selects an object of the target"
	}
	return ""
}

// restore sets the message about the deletion of the policy: it names the objects still to be restored, or the reason
// for a delay.
func (v *view) restore(remaining []workload.Ref) {
	t, n := &v.counts, len(remaining)
	if n == 0 {
		v.state.Message, v.held = "being deleted: "+cmp.Or(t.delayed, "everything is given back"), t.delayed != ""
		return
	}
	why := make(map[workload.Ref]string, n)
	for _, ref := range remaining {
		why[ref] = cmp.Or(t.failures[ref], t.waiting[ref], "under way")
	}
	v.state.Message = fmt.Sprintf("being deleted: %s %s still to be given back: %s", workload.Count(n, "target"),
		choose(n == 1, "has", "have"), list(why, ""))
	v.held = len(t.failures)+len(t.waiting) > 0
}

// join joins the non-empty parts of a message.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// list returns the messages of the first few targets.
func list(m map[workload.Ref]string, none string) string {
	if len(m) == 0 {
		return none
	}
	var parts []string
	for _, n := range first(m, few) {
		parts = append(parts, n.ref.String()+": "+n.said)
	}
	if more := len(m) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

func choose[T any](is bool, yes, no T) T {
	if is {
		return yes
	}
	return no
}

// Truncate cuts a text to at most n bytes and marks the cut by three dots.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "..."
}
