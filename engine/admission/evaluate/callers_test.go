package evaluate

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/engine/admission/review"
)

// TestRefusedBodyIsDrained proves that a small body is read to its end before the answer, and a large body only in
// part.
func TestRefusedBodyIsDrained(t *testing.T) {
	for size, left := range map[int]int{100: 0, drained: 0, drained + 100: 100} {
		body := strings.NewReader(strings.Repeat("a", size))
		answer := httptest.NewRecorder()
		TurnAway(answer, httptest.NewRequest(http.MethodPut, "/", body), review.Faultf(http.StatusMethodNotAllowed, "post something"))
		if answer.Code != http.StatusMethodNotAllowed || body.Len() != left {
			t.Errorf("%d of %d bytes are left, want %d; %d", body.Len(), size, left, answer.Code)
		}
	}
}

func TestRateLimitPerUser(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Date(2037, 5, 11, 8, 0, 0, 0, time.UTC))
	l := newRates(2, now)
	passed := func(user string) (n int) {
		for range 100 {
			if l.take(user) == 0 {
				n++
			}
		}
		return n
	}
	if got := passed("alice"); got != 20 {
		t.Errorf("%d at once, want the burst of 20", got)
	}
	if got := l.take("alice"); got != 500*time.Millisecond {
		t.Errorf("has to wait %v, want half a second", got)
	}
	if got := passed("bob"); got != 20 {
		t.Errorf("another user gets %d, want 20", got)
	}
	now.SetTime(now.Now().Add(3 * time.Second))
	if got := passed("alice"); got != 6 {
		t.Errorf("after three seconds %d, want 6", got)
	}
	now.SetTime(now.Now().Add(time.Hour))
	if got := passed("alice"); got != 20 {
		t.Errorf("after an hour %d, want 20", got)
	}
}
