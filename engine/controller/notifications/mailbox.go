package notifications

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flyball.dev/flyball/engine/notify"
	"flyball.dev/flyball/engine/workers"
)

const (
	// maxAttempts is the number of attempts to send a message. The pause after the first is firstPause, and doubles up to maxPause.
	maxAttempts          = 8
	firstPause, maxPause = time.Second, time.Minute
	// lookAgain is the pause before an unreadable Secret is read again.
	lookAgain = time.Minute
)

// mailbox sends the messages of one Notification, one after the other.
type mailbox struct {
	c          *Controller
	key        boxKey
	uid        types.UID
	generation int64
	to         object
	sub        *notify.Subscription

	// share has the lock of all fields below.
	share  *share
	gather *notify.Gatherer
	watch  *notify.Watch
	// outbox are the due messages. dropped is the number of messages dropped and not yet in the status. aheadUntil is the instant of
	// the last look ahead with a message.
	outbox     []notify.Message
	dropped    int64
	aheadUntil time.Time
	// heir took over, after an edit of the Notification.
	heir *mailbox

	signal chan struct{}
	stop   context.CancelFunc
}

func newMailbox(c *Controller, key boxKey, n object, s *notify.Subscription) *mailbox {
	b := &mailbox{c: c, key: key, uid: n.GetUID(), generation: n.GetGeneration(), to: n, sub: s, signal: make(chan struct{}, 1)}
	b.seed(n)
	return b
}

// seed takes from a status which messages were sent by other managers.
func (b *mailbox) seed(n object) {
	b.gather = notify.NewGatherer(n.status.Recent)
	var until time.Time
	if at := n.status.AheadUntil; at != nil {
		until = at.Time
	}
	b.watch = notify.NewWatch(until)
}

func (b *mailbox) start() {
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	go b.run(ctx)
}

// close stops a mailbox. Its messages go to the heir; nil: nowhere. A message in flight is sent again, with the same ID. The caller
// holds the lock.
func (b *mailbox) close(heir *mailbox) {
	b.stop()
	if heir == nil || heir.uid != b.uid {
		return
	}
	heir.gather, heir.watch, heir.outbox, heir.dropped, heir.aheadUntil = b.gather, b.watch, b.outbox, b.dropped, b.aheadUntil
	b.heir, b.gather, b.watch, b.outbox, b.dropped = heir, notify.NewGatherer(nil), notify.NewWatch(time.Time{}), nil, 0
}

// observe adds an announcement if the Notification selects it.
func (b *mailbox) observe(a notify.Announcement, labels map[string]string) {
	b.share.mu.Lock()
	defer b.share.mu.Unlock()
	b.add(a, labels)
}

// add is observe for a holder of the lock.
func (b *mailbox) add(a notify.Announcement, labels map[string]string) {
	if b.heir != nil {
		b.heir.add(a, labels)
		return
	}
	if !b.sub.Selects(a.Event, a.Policy, labels) {
		return
	}
	if m := b.gather.Add(a, time.Now()); m != nil {
		b.put(*m)
	}
	b.share.shrink()
	workers.Poke(b.signal)
}

// put adds a due message. The caller holds the lock.
func (b *mailbox) put(m notify.Message) {
	m.ID = string(uuid.NewUUID())
	b.outbox = append(b.outbox, m)
}

// waiting returns the number of messages besides the first, which is being sent. The caller holds
// the lock.
func (b *mailbox) waiting() int { return max(0, len(b.outbox)-1) + b.gather.Len() }

// drop drops the oldest message of the namespace with most messages, because one namespace must not push the messages of others out of
// a ClusterNotification. The caller holds the lock.
func (b *mailbox) drop() {
	counts, crowded := map[string]int{}, ""
	count := func(namespace string) {
		if counts[namespace]++; counts[namespace] > counts[crowded] {
			crowded = namespace
		}
	}
	for _, m := range b.outbox[min(1, len(b.outbox)):] {
		count(m.Policy.Namespace)
	}
	for policy := range b.gather.Waiting() {
		count(policy.Namespace)
	}
	for i := 1; i < len(b.outbox); i++ {
		if b.outbox[i].Policy.Namespace == crowded {
			b.outbox = slices.Delete(b.outbox, i, i+1)
			b.dropped++
			return
		}
	}
	b.gather.Drop(crowded)
	b.dropped++
}

// next returns the first waiting message, and the instant when another is due; zero: never.
func (b *mailbox) next() (m notify.Message, ok bool, at time.Time) {
	b.share.mu.Lock()
	defer b.share.mu.Unlock()
	due, at := b.gather.Due(time.Now())
	for _, m := range due {
		b.put(m)
	}
	if len(b.outbox) == 0 {
		return m, false, at
	}
	return b.outbox[0], true, at
}

// remove removes a message that was sent or given up, unless an heir has it.
func (b *mailbox) remove(id string) {
	b.share.mu.Lock()
	defer b.share.mu.Unlock()
	if len(b.outbox) > 0 && b.outbox[0].ID == id {
		b.outbox = b.outbox[1:]
	}
}

// run sends messages until the context ends.
func (b *mailbox) run(ctx context.Context) {
	for ctx.Err() == nil {
		m, ok, at := b.next()
		if ok {
			if err := b.deliver(ctx, &m); ctx.Err() == nil {
				b.remove(m.ID)
				b.record(ctx, &m, err)
			}
			continue
		}
		var timer <-chan time.Time
		if !at.IsZero() {
			timer = time.After(time.Until(at))
		}
		select {
		case <-ctx.Done():
		case <-b.signal:
		case <-timer:
		}
	}
}

// deliver sends a message, with several attempts.
func (b *mailbox) deliver(ctx context.Context, m *notify.Message) error {
	d := notify.DataOf(m, b.c.Clock.Now())
	text, err := b.sub.Text(d)
	if err != nil {
		return err
	}
	e := &Envelope{ID: m.ID, Source: b.source(), Time: b.c.Clock.Now(), Text: text, Data: d}
	pause := firstPause
	for attempt := 1; ; attempt++ {
		err := b.attempt(ctx, e)
		if err == nil || IsPermanent(err) {
			return err
		}
		if attempt == maxAttempts {
			return fmt.Errorf("%w (%d attempts)", err, attempt)
		}
		b.waits(ctx, m, err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

func (b *mailbox) attempt(ctx context.Context, e *Envelope) error {
	s, err := b.c.sender(ctx, b.to)
	if err != nil {
		return err
	}
	return s.Send(ctx, e)
}

// source returns the Notification as a path of the Kubernetes API.
func (b *mailbox) source() string {
	if b.key.Namespace == "" {
		return "/apis/flyball.dev/v1alpha1/clusternotifications/" + b.key.Name
	}
	return "/apis/flyball.dev/v1alpha1/namespaces/" + b.key.Namespace + "/notifications/" + b.key.Name
}
