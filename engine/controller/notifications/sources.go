package notifications

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/notify"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Tap returns a recorder that also announces the events about policies.
func (c *Controller) Tap(r events.EventRecorder) events.EventRecorder { return tap{r, c} }

type tap struct {
	events.EventRecorder
	c *Controller
}

// Eventf implements events.EventRecorder.
func (t tap) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	t.EventRecorder.Eventf(regarding, related, kind, reason, action, note, args...)
	of, ok := regarding.(policy.Object)
	if !ok {
		return
	}
	if gvk, err := t.c.Client.GroupVersionKindFor(regarding); err == nil && gvk.Group == v1alpha1.GroupVersion.Group {
		t.c.Announce(workload.Policy{Kind: gvk.Kind, Namespace: of.GetNamespace(), Name: of.GetName()}, reason, action,
			fmt.Sprintf(note, args...))
	}
}

// Announce announces a Kubernetes Event about a policy.
func (c *Controller) Announce(id workload.Policy, reason, action, text string) {
	if event, ok := notify.Event(reason, action); ok {
		c.Observe(notify.Announcement{Event: event, Policy: id, Text: workload.OneLine(text, 1024), At: c.Clock.Now()})
	}
}

// ahead announces transitions ahead, on the leader.
type ahead struct{ *Controller }

// Start announces transitions until the context ends.
func (a *ahead) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.World.Loaded():
	}
	for _, box := range a.all() { // another leader may have sent messages since the mailbox was opened
		if n, err := a.get(ctx, a.Reader, box.key); err == nil {
			box.share.mu.Lock()
			box.seed(n)
			box.share.mu.Unlock()
		}
	}
	for ctx.Err() == nil {
		now := a.Clock.Now()
		a.wait(ctx, now, a.announce(now))
	}
	return nil
}

// wait waits until the instant, if any, or until a policy or a mailbox changes.
func (a *ahead) wait(ctx context.Context, now, until time.Time) {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := a.Clock.NewTimer(until.Sub(now))
		defer t.Stop()
		timer = t.C()
	}
	select {
	case <-ctx.Done():
	case <-a.changed:
	case <-timer:
	}
}

// announce announces the due transitions, and returns the instant when another is; zero: never.
func (a *ahead) announce(now time.Time) (next time.Time) {
	boxes := a.all()
	if len(boxes) == 0 {
		return next
	}
	for p := range a.World.Snapshot().Policies {
		if p.Deleting || p.IsBroken() || !p.Kind.ActsOnTargets() {
			continue
		}
		event := v1alpha1.EventTransitionAhead
		if p.Kind.Restricts {
			event = v1alpha1.EventFreezeAhead
		}
		at, labels := time.Time{}, p.Object.GetLabels()
		for _, box := range boxes {
			if !box.sub.Selects(event, p.ID, labels) {
				continue
			}
			if at.IsZero() {
				if at = p.State(now).Next; at.IsZero() {
					break
				}
			}
			due, begin := box.isDue(p.ID, at, now)
			next = timeline.Earliest(next, begin)
			if !due {
				continue
			}
			if said, ok := notify.Ahead(p.Policy.Policy, p.Kind.Restricts, targetsOf(p.Kind.Status(p.Object)), a.Page, now); ok {
				box.observe(said, labels)
			}
		}
		next = timeline.Earliest(next, at) // the transition after it may be near too
	}
	for _, box := range boxes {
		box.endPass(now)
	}
	return next
}

func targetsOf(st *v1alpha1.PolicyStatus) int32 {
	if st == nil || st.Targets == nil {
		return 0
	}
	return st.Targets.Total
}

func (b *mailbox) isDue(id workload.Policy, transition, now time.Time) (due bool, at time.Time) {
	b.share.mu.Lock()
	defer b.share.mu.Unlock()
	due, at = b.watch.Due(id, transition, b.sub.Ahead, now)
	if due {
		b.aheadUntil = now
	}
	return due, at
}

func (b *mailbox) endPass(now time.Time) {
	b.share.mu.Lock()
	defer b.share.mu.Unlock()
	b.watch.EndPass(now)
}
