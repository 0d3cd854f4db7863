package gate

import (
	"net/http"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// places are the reviews of one size served in parallel, shared between users. A user with as many places as are free
// gets no more. So a single user gets at most half of the places, two users a third each, and while there are fewer
// users than places, one place stays free for the next user. No review waits for a share, because API servers retry.
type places struct {
	taken chan struct{}

	mu   sync.Mutex
	held map[string]int
}

func newPlaces(n int) *places {
	return &places{taken: make(chan struct{}, n), held: map[string]int{}}
}

// share gives a user's share to a review that already has a place. It returns false if the user's share is used up.
func (p *places) share(who string) (release func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[who] > cap(p.taken)-len(p.taken) {
		return nil, false
	}
	p.held[who]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.held[who]--; p.held[who] == 0 {
			delete(p.held, who)
		}
	}, true
}

const accounts = "system:serviceaccount:"

// Asker returns the user whose share a request uses.
type Asker func(req *http.Request, body []byte) string

// askerOf returns the user in an admission review, as written by the API server. All reviews without a user share the
// empty name.
func askerOf(_ *http.Request, body []byte) string {
	return shareOf(gjson.GetBytes(body, "request.userInfo.username").String())
}

// shareOf returns the share of a user. All service accounts of one namespace have one share, because a user who may
// create one there may create many.
func shareOf(user string) string {
	if rest, ok := strings.CutPrefix(user, accounts); ok {
		namespace, _, _ := strings.Cut(rest, ":")
		return accounts + namespace
	}
	return user
}
