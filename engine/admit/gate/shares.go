package gate

import (
	"net/http"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// places are how many reviews of one size are served at once. They are dealt out by who asks: whoever has as many as are free gets no
// more. So one user gets half of them at most, two get a third each, and while fewer ask than there are places, one is free for who comes
// next. Nobody waits for a share: API servers ask again.
type places struct {
	taken chan struct{}

	mu   sync.Mutex
	held map[string]int
}

func newPlaces(n int) *places {
	return &places{taken: make(chan struct{}, n), held: map[string]int{}}
}

// share gives a review that has a place already to whoever asks. False: they have their share.
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

// Asker says who asks by a request with a body, as places are shared out.
type Asker func(req *http.Request, body []byte) string

// askerOf says who asks by an admission review: the API server has written it there. A review that does not say is nobody's, and nobody
// is one too.
func askerOf(_ *http.Request, body []byte) string {
	return shareOf(gjson.GetBytes(body, "request.userInfo.username").String())
}

// shareOf says whose share the requests of a user are of. Service accounts of one namespace are one: who may make one there may make
// many.
func shareOf(user string) string {
	if rest, ok := strings.CutPrefix(user, accounts); ok {
		namespace, _, _ := strings.Cut(rest, ":")
		return accounts + namespace
	}
	return user
}
