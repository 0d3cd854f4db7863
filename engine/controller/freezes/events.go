package freezes

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
)

const (
	// quietFor is the time for which further events about one policy with one reason are held back, to be merged into
	// one event.
	quietFor = time.Minute
	// maxTold is the maximum number of events about one policy with one reason within quietFor. maxPolicies is the
	// maximum number of policies with events of a single request. It equals the number of policies named in a refusal.
	maxTold, maxPolicies = 10, 10
	// maxNote is the API server's limit for the text of an event, in bytes.
	maxNote = 1024
	// reporter is the reporter of events. It is the same in all parts of the manager.
	reporter = "flyball"
)

// announcement is an event to be sent.
type announcement struct {
	policy workload.Policy
	// object is the other object of the event, besides the policy. It is nil if there is no other object.
	object *corev1.ObjectReference
	// kind is Normal or Warning. reason is the event's reason. action is the requested action. text is the event's
	// message.
	kind, reason, action, text string
	// same is a text that is equal for repetitions. For example, refusals of changes of one object have the same text
	// for all users.
	same string
	// until is the end of the wait for the policy. An exception, for example, is announced before the API server has
	// stored it.
	until time.Time
	// gone is true if the announced change may have deleted the policy.
	gone bool
}

// occasion is the key of the rate limit of events.
type occasion struct {
	policy workload.Policy
	reason string
}

// occasionEvents counts the events of an occasion since the last quiet time.
type occasionEvents struct {
	since time.Time
	// sent has the field same of each sent event.
	sent map[string]struct{}
	// rest is the number of held-back events. last is the newest held-back event.
	rest int
	last announcement
}

// judgedEvents returns the events of a request. They are on the policies that deny it and on the policies left or
// entered by an edit of labels. If the request is allowed, they are also on the policies lifted by exceptions, and on
// these exceptions.
func (n *Recorder) judgedEvents(j *freezeadmission.Judgement) []announcement {
	var list []announcement
	name, user := nameOf(&j.Request), j.Request.User
	add := func(policy workload.Policy, kind, reason string, actions []string, text string) {
		text = n.mark + text
		list = append(list, announcement{policy: policy, object: j.Object, kind: kind, reason: reason,
			action: cmp.Or(strings.Join(actions, "And"), "Judge"), text: text, same: text})
	}
	for _, d := range firstOf(j.Verdict.Denials, maxPolicies) {
		reason := map[v1alpha1.Enforcement]string{v1alpha1.EnforcementDeny: "Denied", v1alpha1.EnforcementWarn: "Warned",
			v1alpha1.EnforcementAudit: "WouldDeny"}[d.Enforcement]
		add(d.Policy, corev1.EventTypeWarning, reason, d.Names(), fmt.Sprintf("%s of %s by %s", strings.Join(d.Names(), " and "), name, user))
		list[len(list)-1].same = name
	}
	for _, p := range firstOf(j.Escaped, maxPolicies) {
		where := "out of the freeze"
		if strings.HasSuffix(p.Kind, freeze.ExceptionKind) {
			where = "into the exception"
		}
		add(p, corev1.EventTypeWarning, "Relabelled", []string{"Relabel"}, fmt.Sprintf("%s was taken %s by labels, by %s", name, where, user))
	}
	if !j.Verdict.Allowed {
		return list
	}
	set := n.world.Set()
	for _, l := range firstOf(j.Verdict.Lifts, maxPolicies) {
		names, why := l.Actions.Names(), ""
		if e := set.Exception(l.Exception); e != nil {
			why = ": " + e.Why()
		}
		what := fmt.Sprintf("%s of %s by %s", strings.Join(names, " and "), name, user)
		add(l.Policy, corev1.EventTypeNormal, "Lifted", names, what+", let through by "+l.Exception.String()+why)
		add(l.Exception, corev1.EventTypeNormal, "Used", names, what+", which "+l.Policy.String()+" denies"+why)
	}
	return list
}

func firstOf[T any](list []T, n int) []T { return list[:min(len(list), n)] }

// announce queues an event. If the same event was sent within the last minute, or the limit is reached, it only
// counts the event. The caller holds the lock.
func (n *Recorder) announce(a announcement) {
	key := occasion{a.policy, a.reason}
	t := n.occasions[key]
	if t == nil {
		t = &occasionEvents{since: n.wall(), sent: map[string]struct{}{}}
		n.occasions[key] = t
		time.AfterFunc(quietFor, func() { workers.Poke(n.signal) })
	}
	if _, repeated := t.sent[a.same]; repeated || len(t.sent) >= maxTold {
		t.rest, t.last = t.rest+1, a
		return
	}
	t.sent[a.same] = struct{}{}
	n.queue = append(n.queue, a)
	n.announced(a.policy, a.reason, a.action, a.text)
}

// queueRest queues one event for the held-back events of each occasion that began at least a minute ago. It drops
// occasions without held-back events. The caller holds the lock.
func (n *Recorder) queueRest() {
	now := n.wall()
	for key, t := range n.occasions {
		if now.Sub(t.since) < quietFor {
			continue
		}
		delete(n.occasions, key)
		if t.rest > 0 {
			t.last.text = fmt.Sprintf("%d more since %s, the last: %s", t.rest, t.since.UTC().Format(time.TimeOnly), t.last.text)
			n.announce(t.last)
		}
	}
}

// deliver sends an event on the policy, and an event on the object if the object exists. It returns false if the
// policy does not exist.
func (n *Recorder) deliver(ctx context.Context, a announcement) bool {
	found, err := n.get(ctx, a.policy)
	if err != nil || found == nil && !a.gone {
		return false
	}
	policy := corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: a.policy.Kind, Namespace: a.policy.Namespace,
		Name: a.policy.Name}
	if found != nil {
		policy.UID = found.GetUID()
	}
	if err := n.send(ctx, policy, a.object, &a, a.text); err != nil {
		n.log.V(1).Info("Failed to send an event", "policy", a.policy.String(), "reason", err.Error())
	}
	if a.object == nil || a.object.UID == "" {
		return true
	}
	if err := n.send(ctx, *a.object, &policy, &a, a.policy.String()+": "+a.text); err != nil {
		n.log.V(1).Info("Failed to send an event", "object", a.object.Name, "reason", err.Error())
	}
	return true
}

// send writes one event. Events about cluster-scoped objects are in kube-system instead of the usual default, because
// they name objects and users of all namespaces.
func (n *Recorder) send(ctx context.Context, regarding corev1.ObjectReference, related *corev1.ObjectReference, a *announcement,
	text string) error {
	return n.client.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cmp.Or(regarding.Namespace, metav1.NamespaceSystem), GenerateName: reporter + "-",
		},
		EventTime: metav1.NowMicro(), ReportingController: reporter, ReportingInstance: n.instance,
		Type: a.kind, Reason: a.reason, Action: a.action, Regarding: regarding, Related: related, Note: workload.OneLine(text, maxNote),
	})
}
