package wakes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/engine/admit"
	"flyball.dev/flyball/engine/admit/limits"
	"flyball.dev/flyball/engine/wake"
	"flyball.dev/flyball/engine/workload"
)

const (
	// maxStreams and maxStreamsOfUser are the maximum numbers of waits at a time. Each reads one object a second.
	maxStreams, maxStreamsOfUser = 256, 10
	// maxWait is the time limit of a wait.
	maxWait = 15 * time.Minute
	// lookAgain is the interval at which a wait reads an object. aliveEvery is the maximum time between two lines, so that
	// neither a proxy nor a client takes the connection for dead. lineTime is the time limit for sending a line.
	lookAgain, aliveEvery, lineTime = time.Second, 10 * time.Second, 10 * time.Second
)

// Progress is a line of a wait. The last line has Done or Error.
type Progress struct {
	// Ready is the number of ready targets among Of.
	Ready int `json:"ready"`
	Of    int `json:"of"`
	// Waiting is the next target that is not ready, and Why the reason.
	Waiting string `json:"waiting,omitempty"`
	Why     string `json:"why,omitempty"`
	// Done is true if all targets are awake and ready.
	Done bool `json:"done"`
	// Error is the reason why the wait has ended before.
	Error string `json:"error,omitempty"`
}

// streams counts the waits of users.
type streams struct {
	mu    sync.Mutex
	total int
	users map[string]int
}

func newStreams() *streams { return &streams{users: map[string]int{}} }

// hasRoom reports whether a user may begin another wait.
func (s *streams) hasRoom(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total < maxStreams && s.users[user] < maxStreamsOfUser
}

func (s *streams) begin(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= maxStreams || s.users[user] >= maxStreamsOfUser {
		return false
	}
	s.total++
	s.users[user]++
	return true
}

func (s *streams) end(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.users[user]--; s.users[user] == 0 {
		delete(s.users, user)
	}
}

// stream sends the answer and then lines of progress until all targets are ready, the client goes away, or the manager
// stops.
func (a *api) stream(w http.ResponseWriter, req *http.Request, caller *authenticationv1.UserInfo, done *outcome) {
	ctx, cancel := context.WithTimeout(req.Context(), maxWait)
	defer cancel()
	control := http.NewResponseController(w)
	send := func(line any) bool {
		_ = control.SetWriteDeadline(time.Now().Add(lineTime)) // a test's recorder has no deadline
		text, err := json.Marshal(line)
		if err == nil {
			_, err = w.Write(append(text, '\n'))
		}
		return err == nil && control.Flush() == nil
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies send each line at once
	p := Progress{Of: len(done.reached)}
	switch {
	case !send(done.Answer):
		return
	case !a.streams.begin(caller.Username):
		p.Error = "too many waits at once; it is kept awake all the same"
		send(p)
		return
	}
	defer a.streams.end(caller.Username)
	for i := range done.reached {
		if !a.await(ctx, &done.reached[i], &p, send) {
			return
		}
		p.Ready++
	}
	p.Waiting, p.Why, p.Done = "", "", true
	send(p)
}

// await waits until a target is awake and ready. It returns false if the wait ends before.
func (a *api) await(ctx context.Context, t *target, p *Progress, send func(any) bool) bool {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	p.Waiting = t.ref.String()
	var sent time.Time
	for {
		ready, why := a.isReady(ctx, t)
		if ready {
			return true
		}
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			p.Error = fmt.Sprintf("not ready after %s; it is kept awake all the same", maxWait)
		case ctx.Err() != nil:
			return false
		case a.Stopping():
			p.Error = "Flyball restarts; it is kept awake all the same. Ask again to wait on"
		}
		if now := time.Now(); why != p.Why || p.Error != "" || now.Sub(sent) >= aliveEvery {
			p.Why, sent = why, now
			if !send(*p) || p.Error != "" {
				return false
			}
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// isReady reads a target and reports whether it is awake and ready. If it is not, isReady also returns the reason.
func (a *api) isReady(ctx context.Context, t *target) (bool, string) {
	obj, err := resource(a.Client, wake.OfObject(t.kind.Resource, t.ref)).Get(ctx, t.ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, "" // nothing is left to wait for
	case err != nil:
		return false, workload.OneLine(err.Error(), limits.MaxRefusal)
	}
	raw, err := obj.MarshalJSON()
	if err != nil {
		return false, err.Error()
	}
	projected, err := t.kind.Adapter.Project(raw)
	if err != nil {
		return false, workload.OneLine(err.Error(), limits.MaxRefusal)
	}
	if e := sleeper(projected.Ledger); e != nil {
		return false, fmt.Sprintf("%s still sets %s", e.By, e.Pointer)
	}
	return t.kind.Adapter.Ready(raw)
}

// sleeper returns a field that a schedule or a freeze keeps asleep, or nil if the object is awake.
func sleeper(ledger workload.Ledger) *workload.Entry {
	freezes := admit.FreezeResources()
	for i := range ledger {
		kind, _, _ := strings.Cut(ledger[i].By, "/")
		if _, freeze := freezes[kind]; freeze || wake.IsSchedule(kind) {
			return &ledger[i]
		}
	}
	return nil
}
