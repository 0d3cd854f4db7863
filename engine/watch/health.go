package watch

import (
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// health holds the reason why a watch does not work, for the adapter's status.
type health struct {
	mu sync.Mutex
	at time.Time
	// err is the last failure; nil while the watch works.
	err      error
	failures uint64
	// expired is true if the API server has dropped the version from which the watch wanted to continue.
	expired bool
}

// fail records a failure and reports whether its kind differs from the last failure's. An expired version is no
// failure: the reflector lists again.
func (h *health) fail(err error) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		h.expired = true
		return false
	}
	changed = h.err == nil || reason(h.err) != reason(err)
	h.at, h.err = time.Now(), err
	h.failures++
	return changed
}

// reason returns the kind of a failure, without the changing parts of its text, such as port numbers.
func reason(err error) metav1.StatusReason {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "Unreachable"
	}
	return apierrors.ReasonForError(err)
}

// succeed records that the watch works and reports whether this is new.
func (h *health) succeed() (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed = h.err != nil
	h.err = nil
	return changed
}

// takeExpired reports whether the version has expired since the last call.
func (h *health) takeExpired() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.expired
	h.expired = false
	return was
}

func (h *health) last() (time.Time, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		return time.Time{}, nil
	}
	return h.at, h.err
}

func (h *health) count() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures
}
