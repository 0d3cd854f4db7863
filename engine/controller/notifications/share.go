package notifications

import (
	"sync"

	"flyball.dev/flyball/engine/notify"
)

// maxWaiting is the maximum number of waiting messages in a share.
const maxWaiting = 500

// share is the queue of the Notifications of one namespace, or of all ClusterNotifications. Its length is fixed: no namespace fills the
// memory or pushes out the messages of others. Each Notification sends its own messages, and never waits for the receiver of another.
type share struct {
	mu    sync.Mutex
	boxes map[string]*mailbox // by name
}

// observe adds an announcement to the mailboxes with a selector for it.
func (s *share) observe(a notify.Announcement, labels map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.boxes {
		b.add(a, labels)
	}
}

// shrink drops messages of the Notification with most messages while too many wait. The caller holds the lock.
func (s *share) shrink() {
	for {
		sum, most := 0, 0
		var crowded *mailbox
		for _, b := range s.boxes {
			n := b.waiting()
			if sum += n; n > most {
				crowded, most = b, n
			}
		}
		if sum <= maxWaiting {
			return
		}
		crowded.drop()
		crowded.c.Metrics.count(crowded.key, "dropped", 1)
	}
}

// replace stops a mailbox and starts another with its waiting messages; nil: none.
func (s *share) replace(name string, next *mailbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.boxes[name]; old != nil {
		if next != nil && old.uid == next.uid && old.generation == next.generation {
			return
		}
		old.close(next)
		delete(s.boxes, name)
	}
	if next != nil {
		next.share = s
		s.boxes[name] = next
		next.start()
	}
}
