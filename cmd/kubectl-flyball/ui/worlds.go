package ui

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/admission/review"
)

const (
	// maxWorlds is the largest number of kept worlds, and maxWorldsOfPerson that of one person. For one more, the world
	// without a request for the longest time is dropped: of the same person, or of all people.
	maxWorlds, maxWorldsOfPerson = 32, 4
	// idleTime is the time after which a world without a request is dropped.
	idleTime = 15 * time.Minute
	// maxStreamsOfAll is the largest number of event streams of all people, and maxStreamsOfPerson that of one person.
	maxStreamsOfAll, maxStreamsOfPerson = 256, 8
	// maxReading is the largest number of worlds read at the same time for people without a kept world. Nobody
	// knows yet whether they have any right. maxWaitingOfPerson is the largest number of such reads and waits of one person,
	// and maxWaitingOfAll that of all people.
	maxReading, maxWaitingOfPerson, maxWaitingOfAll = 4, 2, 64
)

// key is the key of a world: the digest of the token, and the namespace.
type key struct {
	token     [sha256.Size]byte
	namespace string
}

// ownWorld is the kept world of a person, with its pages. No other person ever gets them, because nobody else has the token.
type ownWorld struct {
	person string
	pages  http.Handler
	last   time.Time
	// dropped is closed when the world is dropped.
	dropped chan struct{}
}

// worlds are the worlds of all people. A world is kept only after it was read, so a person without rights has none.
type worlds struct {
	open Open
	now  func() time.Time
	// secret makes the forms of all people.
	secret  []byte
	streams *places
	waiting *places
	reading chan struct{}
	once    singleflight.Group

	mu   sync.Mutex
	kept map[key]*ownWorld
}

func newWorlds(open Open, now func() time.Time) *worlds {
	return &worlds{open: open, now: now, secret: []byte(secret()), kept: map[key]*ownWorld{}, reading: make(chan struct{}, maxReading),
		streams: &places{each: maxStreamsOfPerson, all: maxStreamsOfAll}, waiting: &places{each: maxWaitingOfPerson, all: maxWaitingOfAll}}
}

// personOf returns the name under which the worlds and streams of a user are counted. The service accounts of a namespace
// count as one person, because its owner can create any number of them.
func personOf(user *authenticationv1.UserInfo) string {
	if rest, ok := strings.CutPrefix(user.Username, "system:serviceaccount:"); ok {
		namespace, _, _ := strings.Cut(rest, ":")
		return "system:serviceaccount:" + namespace
	}
	return user.Username
}

// form returns the secret in the forms of a token. It is the same in all namespaces, and does not depend on kept worlds.
func (c *worlds) form(token [sha256.Size]byte) string {
	mac := hmac.New(sha256.New, c.secret)
	_, _ = mac.Write(token[:])
	return hex.EncodeToString(mac.Sum(nil))
}

// pages returns the pages of a person in a namespace. If the world of the person is not kept, it reads the world first.
func (c *worlds) pages(ctx context.Context, token, namespace string, user *authenticationv1.UserInfo) (http.Handler, error) {
	k := key{sha256.Sum256([]byte(token)), namespace}
	if pages := c.find(k); pages != nil {
		return pages, nil
	}
	pages, err, _ := c.once.Do(string(k.token[:])+namespace, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), computeWithin) // requests of several pages may share it
		defer cancel()
		return c.read(ctx, k, token, user)
	})
	if err != nil {
		return nil, err
	}
	return pages.(http.Handler), nil
}

// find returns the pages of a kept world, or nil. It drops idle worlds.
func (c *worlds) find(k key) http.Handler {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for other, v := range c.kept {
		if now.Sub(v.last) > idleTime {
			c.drop(other, v)
		}
	}
	v := c.kept[k]
	if v == nil {
		return nil
	}
	v.last = now
	return v.pages
}

// errBusy is the error for a person who has to wait for other reads.
var errBusy = review.Faultf(http.StatusServiceUnavailable, "too many pages are being opened: try again")

// read reads a world and keeps it.
func (c *worlds) read(ctx context.Context, k key, token string, user *authenticationv1.UserInfo) (http.Handler, error) {
	person := personOf(user)
	if !c.waiting.take(person) {
		return nil, errBusy
	}
	defer c.waiting.leave(person)
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-ctx.Done():
		return nil, errBusy
	}
	o, err := c.open(token, k.namespace, user)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	v := &ownWorld{person: person, pages: mux, dropped: make(chan struct{})}
	load := o.Load
	o.Load = func(ctx context.Context) (*source.World, error) {
		w, err := load(ctx)
		if missing := source.MissingRights(nil); errors.As(err, &missing) || apierrors.IsUnauthorized(err) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.drop(k, v)
		}
		return w, err
	}
	s := NewServer("", o)
	s.form, s.person, s.streams, s.dropped = c.form(k.token), person, c.streams, v.dropped
	s.routes(mux)
	if _, _, err := s.current(ctx); err != nil {
		return nil, err
	}
	c.keep(k, v)
	return mux, nil
}

// keep keeps a world, and drops others if there are too many.
func (c *worlds) keep(k key, v *ownWorld) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v.last = c.now()
	c.makeRoom(maxWorldsOfPerson, func(other *ownWorld) bool { return other.person == v.person })
	c.makeRoom(maxWorlds, func(*ownWorld) bool { return true })
	c.kept[k] = v
}

// makeRoom drops the world without a request for the longest time if there are at least most.
func (c *worlds) makeRoom(most int, counts func(*ownWorld) bool) {
	n := 0
	var oldest key
	for k, v := range c.kept {
		if !counts(v) {
			continue
		}
		if n++; n == 1 || v.last.Before(c.kept[oldest].last) {
			oldest = k
		}
	}
	if n >= most {
		c.drop(oldest, c.kept[oldest])
	}
}

// drop drops a world, and ends its event streams.
func (c *worlds) drop(k key, v *ownWorld) {
	if c.kept[k] == v {
		delete(c.kept, k)
		close(v.dropped)
	}
}
