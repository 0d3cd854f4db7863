package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// meter records the answers on a client's connection. The manager and the bare loop are measured by the same kind of
// meter at the same point, which is the arrival of the head of an answer.
type meter struct {
	mu sync.Mutex
	// last is the time of the latest answer. Answers to watches and leases do not count.
	last time.Time
	// applied is the number of successful patches of Deployments. refused is the number of failed patches.
	applied, refused int
	lastApplied      time.Time
	want             int
	reached          chan struct{}
}

// on returns a copy of a client configuration whose connections the meter records.
func (m *meter) on(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return metered{m, next} })
	return config
}

type metered struct {
	meter *meter
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t metered) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		t.meter.answered(req, resp.StatusCode)
	}
	return resp, err
}

func (m *meter) answered(req *http.Request, code int) {
	if req.URL.Query().Has("watch") || strings.Contains(req.URL.Path, "/leases") {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = time.Now()
	if req.Method != http.MethodPatch || !strings.Contains(req.URL.Path, "/deployments/") {
		return
	}
	if code != http.StatusOK {
		m.refused++
		return
	}
	m.applied++
	m.lastApplied = m.last
	if m.reached != nil && m.applied == m.want {
		close(m.reached)
		m.reached = nil
	}
}

// expect starts to count patches from zero. It returns a channel that is closed at the n-th patch.
func (m *meter) expect(n int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	reached := make(chan struct{})
	m.applied, m.refused, m.want, m.reached = 0, 0, n, reached
	return reached
}

// await waits for the n-th patch since expect and returns its time.
func (m *meter) await(ctx context.Context, reached <-chan struct{}, limit time.Duration) (time.Time, error) {
	select {
	case <-reached:
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(limit):
		m.mu.Lock()
		defer m.mu.Unlock()
		return time.Time{}, fmt.Errorf("wait for %d patches: %d went through and %d did not in %s", m.want, m.applied, m.refused, limit)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lastApplied, nil
}

// patches returns the number of patches since expect.
func (m *meter) patches() (applied, refused int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.applied, m.refused
}

// latest returns the time of the latest answer.
func (m *meter) latest() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// settle waits until no answer has arrived for a while.
func (m *meter) settle(ctx context.Context, quiet, limit time.Duration) error {
	began := time.Now()
	for {
		m.mu.Lock()
		since := time.Since(latest(m.last, began))
		m.mu.Unlock()
		if since >= quiet {
			return nil
		}
		if time.Since(began) > limit {
			return fmt.Errorf("wait until no request is made for %s: there still are some after %s", quiet, limit)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(quiet - since):
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
