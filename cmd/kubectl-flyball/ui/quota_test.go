package ui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

var noon = time.Date(2037, 5, 13, 12, 0, 0, 0, time.UTC)

// crowd is a server of the pages in the cluster. The token of a person is the person's name, and mallory has no right.
type crowd struct {
	*testing.T
	*httptest.Server

	mu sync.Mutex
	// opened counts the worlds opened for each person.
	opened map[string]int
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{T: t, opened: map[string]int{}}
	pages := NewPeopleServer(func(r *http.Request) (*authenticationv1.UserInfo, error) {
		return &authenticationv1.UserInfo{Username: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}, nil
	}, func(_, namespace string, user *authenticationv1.UserInfo) (ServerOptions, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.opened[user.Username]++
		return ServerOptions{Now: func() time.Time { return noon }, Zone: time.UTC, Namespace: namespace,
			Load: func(context.Context) (*source.World, error) {
				if user.Username == "mallory" {
					return nil, noRights
				}
				return &source.World{}, nil
			}}, nil
	}, time.Now)
	c.Server = httptest.NewTLSServer(pages)
	c.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(c.Close)
	return c
}

// worldsOf returns how often a world was opened for a person.
func (c *crowd) worldsOf(person string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened[person]
}

// noRights is the error for a person without rights.
var noRights = source.MissingRights{{Verb: "list", Resource: schema.GroupResource{Group: "flyball.dev", Resource: "schedules"}}}

// ask sends a request of a person. Headers come in pairs.
func (c *crowd) ask(person, namespace, method, path, form string, headers ...string) *http.Response {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.URL+path, strings.NewReader(form))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+person)
	if namespace != "" {
		r.AddCookie(&http.Cookie{Name: namespaceCookie, Value: namespace})
	}
	if method == http.MethodPost {
		r.Header.Set("Origin", c.URL)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := c.Client().Do(r)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// text returns the answer to a request of a person, and fails the test for another status.
func (c *crowd) text(person, namespace, method, path, form string, status int, headers ...string) string {
	c.Helper()
	answer := c.ask(person, namespace, method, path, form, headers...)
	text, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != status {
		c.Errorf("%s gets %d for %s %s, want %d: %.300s", person, answer.StatusCode, method, path, status, text)
	}
	return string(text)
}

// form returns the secret in the forms of a person.
func (c *crowd) form(person, namespace string) string {
	c.Helper()
	found := regexp.MustCompile(`name="token" value="([0-9a-f]{64})"`).
		FindStringSubmatch(c.text(person, namespace, http.MethodGet, "/preview", "", http.StatusOK))
	if found == nil {
		c.Fatal("the page has no form")
	}
	return found[1]
}

// follow opens an event stream, and returns its answer after the first event.
func (c *crowd) follow(person, namespace string) (*bufio.Reader, int) {
	c.Helper()
	answer := c.ask(person, namespace, http.MethodGet, "/events", "")
	out := bufio.NewReader(answer.Body)
	if answer.StatusCode == http.StatusOK {
		if line, err := out.ReadString('\n'); err != nil || line != "event: version\n" {
			c.Fatalf("a stream begins with %q, %v", line, err)
		}
	} else {
		_ = answer.Body.Close()
	}
	return out, answer.StatusCode
}

// TestVisitorWithoutRightsTakesNothing checks that a visitor without rights, who sends many namespaces, keeps no world
// and no stream, and takes neither forms nor worlds from others.
func TestVisitorWithoutRightsTakesNothing(t *testing.T) {
	c := newCrowd(t)
	form := c.form("ada", "shop")
	for i := range 2 * maxWorlds {
		namespace := fmt.Sprintf("team-%d", i)
		c.text("mallory", namespace, http.MethodGet, "/preview", "", http.StatusForbidden)
		if _, code := c.follow("mallory", namespace); code != http.StatusForbidden {
			t.Fatalf("a stream without rights gets %d", code)
		}
	}
	c.text("ada", "shop", http.MethodPost, "/preview", "manifest=&token="+form, http.StatusOK)
	if c.worldsOf("ada") != 1 {
		t.Errorf("the world of ada was opened %d times, want once", c.worldsOf("ada"))
	}
}

// TestFormsOutliveWorlds checks that a form counts with its token in every namespace and after its world was dropped, and
// with no other token.
func TestFormsOutliveWorlds(t *testing.T) {
	c := newCrowd(t)
	form := c.form("ada", "shop")
	for i := range maxWorldsOfPerson {
		c.form("ada", fmt.Sprintf("team-%d", i))
	}
	c.text("ada", "shop", http.MethodPost, "/preview", "manifest=&token="+form, http.StatusOK)
	c.text("ada", "other", http.MethodPost, "/preview", "manifest=&token="+form, http.StatusOK)
	if c.text("bob", "shop", http.MethodPost, "/preview", "manifest=&token="+form, http.StatusForbidden); form == c.form("bob", "shop") {
		t.Error("two people have the same form")
	}
	if other := newCrowd(t); other.form("ada", "shop") == form {
		t.Error("two processes have the same form")
	}
}

// TestWorldsOfAPersonTakeNoPlaceOfOthers checks that a person with many namespaces drops only worlds of the own, and that
// the service accounts of a namespace are one person.
func TestWorldsOfAPersonTakeNoPlaceOfOthers(t *testing.T) {
	c := newCrowd(t)
	c.form("ada", "shop")
	for i := range 2 * maxWorlds {
		c.form("bob", fmt.Sprintf("team-%d", i))
		c.form(fmt.Sprintf("system:serviceaccount:team:robot-%d", i), "team")
	}
	c.form("ada", "shop")
	if c.worldsOf("ada") != 1 {
		t.Errorf("the world of ada was opened %d times, want once", c.worldsOf("ada"))
	}
	for i := range maxWorlds {
		c.form(fmt.Sprintf("person-%d", i), "")
	}
	c.form("ada", "shop")
	if c.worldsOf("ada") != 2 {
		t.Errorf("the world of ada was opened %d times, want again once %d others came", c.worldsOf("ada"), maxWorlds)
	}
}

// TestStreamsAreCountedForTheProcess checks that neither another namespace nor another service account gives a person
// more streams, that all people together have a limit, and that a closed stream gives its place back.
func TestStreamsAreCountedForTheProcess(t *testing.T) {
	c := newCrowd(t)
	served := func(n int, person, namespace func(int) string) (ok int) {
		for i := range n {
			switch _, code := c.follow(person(i), namespace(i)); code {
			case http.StatusOK:
				ok++
			case http.StatusServiceUnavailable:
			default:
				t.Fatalf("a stream gets %d", code)
			}
		}
		return ok
	}
	one := func(name string) func(int) string { return func(int) string { return name } }
	few := func(format string) func(int) string {
		return func(i int) string { return fmt.Sprintf(format, i%maxWorldsOfPerson) }
	}
	if got := served(3*maxStreamsOfPerson, one("ada"), one("shop")); got != maxStreamsOfPerson {
		t.Errorf("ada has %d streams, want %d", got, maxStreamsOfPerson)
	}
	if got := served(3*maxStreamsOfPerson, one("bob"), few("team-%d")); got != maxStreamsOfPerson {
		t.Errorf("bob has %d streams in several namespaces, want %d", got, maxStreamsOfPerson)
	}
	if got := served(3*maxStreamsOfPerson, few("system:serviceaccount:team:robot-%d"), one("shop")); got != maxStreamsOfPerson {
		t.Errorf("the accounts of a namespace have %d streams, want %d", got, maxStreamsOfPerson)
	}
	p := &places{each: 2, all: 3}
	taken := 0
	for i := range 9 {
		if p.take(fmt.Sprint(i % 3)) {
			taken++
		}
	}
	if taken != 3 {
		t.Errorf("%d places of 3 are taken", taken)
	}
	if p.leave("0"); !p.take("1") {
		t.Error("a place that was left is not free")
	}
}

// TestStreamEndsWithItsWorld checks that a stream keeps neither a dropped world nor the world of a person without rights.
func TestStreamEndsWithItsWorld(t *testing.T) {
	c := newCrowd(t)
	first, _ := c.follow("ada", "shop")
	for i := range maxWorldsOfPerson {
		c.form("ada", fmt.Sprintf("team-%d", i))
	}
	if _, err := io.ReadAll(first); err != nil {
		t.Errorf("the stream of a dropped world ends with %v", err)
	}
}

// TestRightsThatEndDropTheWorld checks that the world of a person who lost the rights is dropped at its next read.
func TestRightsThatEndDropTheWorld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		revoked := false
		w := newWorlds(func(string, string, *authenticationv1.UserInfo) (ServerOptions, error) {
			return ServerOptions{Now: time.Now, Zone: time.UTC, Load: func(context.Context) (*source.World, error) {
				if revoked {
					return nil, noRights
				}
				return &source.World{}, nil
			}}, nil
		}, time.Now)
		pages, err := w.pages(t.Context(), "ada", "shop", &authenticationv1.UserInfo{Username: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		revoked = true
		time.Sleep(2 * fresh)
		pages.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/preview", nil))
		if len(w.kept) != 0 {
			t.Error("the world is kept")
		}
	})
}

// TestReadsForStrangersAreBounded checks that few worlds are read at the same time for people without a kept world, that
// a person takes only a part of these places, and that a person with a kept world does not wait.
func TestReadsForStrangersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, reading := make(chan struct{}), atomic.Int32{}
		w := newWorlds(func(_, _ string, user *authenticationv1.UserInfo) (ServerOptions, error) {
			return ServerOptions{Load: func(context.Context) (*source.World, error) {
				if user.Username != "ada" {
					reading.Add(1)
					<-read
				}
				return &source.World{}, nil
			}}, nil
		}, time.Now)
		ask := func(person, namespace string) error {
			_, err := w.pages(t.Context(), person, namespace, &authenticationv1.UserInfo{Username: person})
			return err
		}
		if err := ask("ada", "shop"); err != nil {
			t.Fatal(err)
		}
		busy := atomic.Int32{}
		for _, q := range [][2]string{{"bob", "a"}, {"bob", "a"}, {"bob", "b"}, {"bob", "c"}, {"bob", "d"}, {"eve", ""}, {"joe", ""},
			{"kim", ""}} {
			go func() {
				if errors.Is(ask(q[0], q[1]), errBusy) {
					busy.Add(1)
				}
			}()
		}
		synctest.Wait()
		if reading.Load() != maxReading || busy.Load() != 2 {
			t.Errorf("%d worlds are being read, want %d; %d are refused, want 2", reading.Load(), maxReading, busy.Load())
		}
		if err := ask("ada", "shop"); err != nil {
			t.Error(err)
		}
		close(read)
		synctest.Wait()
		if len(w.kept) != 6 {
			t.Errorf("%d worlds are kept, want 6", len(w.kept))
		}
	})
}

// TestLinkOfAnotherSiteChoosesNoNamespace checks that only an address that a person types, or a link of the pages, sets
// the cookie of the namespace.
func TestLinkOfAnotherSiteChoosesNoNamespace(t *testing.T) {
	c := newCrowd(t)
	for site, sets := range map[string]bool{"cross-site": false, "same-site": false, "": false, "none": true, "same-origin": true} {
		answer := c.ask("ada", "", http.MethodGet, "/?namespace=shop", "", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate")
		_ = answer.Body.Close()
		want := http.StatusOK
		if sets {
			want = http.StatusSeeOther
		}
		if set := len(answer.Cookies()) > 0; set != sets || answer.StatusCode != want {
			t.Errorf("from the site %q: status %d, cookies %v", site, answer.StatusCode, answer.Cookies())
		}
	}
	answer := c.ask("ada", "", http.MethodPost, "/login", "token=ada&namespace=shop")
	_ = answer.Body.Close()
	if got := answer.Cookies(); len(got) != 2 || got[1].Name != namespaceCookie || got[1].Value != "shop" {
		t.Errorf("the form of the token sets %v", got)
	}
}
