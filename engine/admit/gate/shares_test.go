package gate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/testr"
)

// by returns a review of a user, padded to a size in bytes.
func by(user string, size int) string {
	return fmt.Sprintf(`{"request":{"uid":"u-1","userInfo":{"username":%q},"object":"%s"}}`, user, strings.Repeat("a", size))
}

// Requests other than admission reviews use the share of the authenticated user, whatever their body says.
func TestPlacesOfKnownUsersAreShared(t *testing.T) {
	inside, release := make(chan struct{}, smallPlaces), make(chan struct{})
	bounded := Bound(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Slow") != "" {
			inside <- struct{}{}
			<-release
		}
	}), func(req *http.Request) string { return req.Header.Get("User") }, testr.New(t))
	ask := func(user, slow string) int {
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(by("bob", 10)))
		req.Header.Set("User", user)
		req.Header.Set("Slow", slow)
		w := httptest.NewRecorder()
		bounded.ServeHTTP(w, req)
		return w.Code
	}
	var hanging sync.WaitGroup
	for range smallPlaces / 2 {
		hanging.Go(func() { ask("mallory", "1") })
	}
	for range smallPlaces / 2 {
		<-inside
	}
	if code := ask("mallory", ""); code != http.StatusTooManyRequests {
		t.Errorf("a user with half of the places gets %d", code)
	}
	for _, user := range []string{"alice", "bob"} {
		if code := ask(user, ""); code != http.StatusOK {
			t.Errorf("%s gets %d", user, code)
		}
	}
	close(release)
	hanging.Wait()
}

// One user, a few users, or all service accounts of a namespace leave places for other users, however many reviews they
// send and however long these take.
func TestPlacesAreShared(t *testing.T) {
	for _, size := range []struct {
		name   string
		bytes  int
		places int
	}{{"small", 10, smallPlaces}, {"large", smallReview, largePlaces}} {
		release := make(chan struct{})
		s := guard(t, func(_ http.ResponseWriter, req *http.Request) {
			if req.Header.Get("Slow") != "" {
				<-release
			}
		})
		var hanging sync.WaitGroup
		// flood sends as many reviews of the users as there are places, and returns the number of admitted ones.
		flood := func(users ...string) (inside int) {
			before, refused := s.passed.Load(), make(chan struct{}, size.places)
			for i := range size.places {
				hanging.Go(func() {
					req, err := http.NewRequest(http.MethodPost, s.URL+"/"+token+judgePath, strings.NewReader(by(users[i%len(users)], size.bytes)))
					if err != nil {
						t.Error(err)
						return
					}
					req.Header.Set("Slow", "1")
					resp, err := s.Client().Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					_ = resp.Body.Close()
					if resp.StatusCode == http.StatusTooManyRequests {
						refused <- struct{}{}
					}
				})
			}
			for n := 0; n+int(s.passed.Load()-before) < size.places; {
				select {
				case <-refused:
					n++
				default:
					runtime.Gosched()
				}
			}
			return int(s.passed.Load() - before)
		}
		ask := func(user string) {
			t.Helper()
			if resp, text := s.post(t, "/"+token+judgePath, strings.NewReader(by(user, size.bytes))); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s gets %s %s", size.name, user, resp.Status, text)
			}
		}
		var accountsOfOne []string
		for i := range 100 {
			accountsOfOne = append(accountsOfOne, fmt.Sprintf("system:serviceaccount:eve:robot-%d", i))
		}
		if inside := flood(accountsOfOne...); inside == 0 || inside > size.places/2 {
			t.Errorf("%s: the accounts of one namespace have %d of %d places", size.name, inside, size.places)
		}
		ask("alice")
		ask("system:serviceaccount:shop:robot-1")
		if size.places > 2 {
			flood("mallory", "trent")
			ask("alice")
		}
		close(release)
		hanging.Wait()
		if left := len(s.gate.Bounds.small.held) + len(s.gate.Bounds.large.held); left != 0 {
			t.Errorf("%s: %d users still hold places", size.name, left)
		}
		ask("eve")
	}
}
