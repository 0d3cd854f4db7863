package gate

import (
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

// askerOf says who asks by a review. Service accounts of one namespace are one: who may make one there may make many. A review that
// does not say is nobody's, and nobody is one too.
func askerOf(body []byte) string {
	user := gjson.GetBytes(body, "request.userInfo.username").String()
	if rest, ok := strings.CutPrefix(user, accounts); ok {
		namespace, _, _ := strings.Cut(rest, ":")
		return accounts + namespace
	}
	return user
}
