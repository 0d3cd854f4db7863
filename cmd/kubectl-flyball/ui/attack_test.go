package ui_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/path/rawjson"
)

const root = "../../.."

// opened is a running server, with the browser of the person who started it.
type opened struct {
	*testing.T
	address *url.URL
	token   string
	cookie  *http.Cookie
	world   *source.World
	handler http.Handler
	// computes reports whether an answer that may take long is being computed.
	computes func() bool
	// form is the token that the forms of the pages have.
	form string
}

// open starts a server on a free port, with pages that offer no action.
func open(t *testing.T, paths ...string) *opened {
	t.Helper()
	return openWith(t, func(*ui.ServerOptions) {}, paths...)
}

// openWith starts a server on a free port.
func openWith(t *testing.T, change func(*ui.ServerOptions), paths ...string) *opened {
	t.Helper()
	if len(paths) == 0 {
		paths = []string{root + "/test/demo/manifests", root + "/samples/calendars"}
	}
	w, err := source.Files{Paths: paths, Namespace: "shop", FlyballNamespace: source.DefaultNamespace}.Load()
	if err != nil {
		t.Fatal(err)
	}
	w.Adapters = slices.DeleteFunc(w.Adapters, func(a *v1alpha1.Adapter) bool { // to compile unused ones is slow
		return !slices.ContainsFunc(w.Objects, func(raw []byte) bool { return rawjson.GetBytes(raw, "kind").Str == a.Spec.Target.Kind })
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	options := ui.ServerOptions{
		Load: func(context.Context) (*source.World, error) { return w, nil },
		User: func(context.Context) (evaluate.User, error) { return evaluate.User{Name: "alice"}, nil },
		Now:  func() time.Time { return time.Date(2037, 5, 13, 19, 0, 0, 0, time.UTC) },
		Zone: time.UTC, FlyballNamespace: source.DefaultNamespace,
	}
	change(&options)
	s := ui.NewServer(port, options)
	address, err := url.Parse(s.Address())
	if err != nil {
		t.Fatal(err)
	}
	o := &opened{T: t, token: address.Query().Get("token"), world: w, handler: s.Handler(), computes: s.Computes}
	o.address = &url.URL{Scheme: "http", Host: address.Host}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return o
}

// enter opens the address with the token, and keeps the cookie.
func (o *opened) enter() *opened {
	o.Helper()
	answer := o.send(o.request(http.MethodGet, "/?token="+o.token, ""))
	if answer.StatusCode != http.StatusOK || len(answer.cookies) != 1 {
		o.Fatalf("the token gives status %d and %d cookies", answer.StatusCode, len(answer.cookies))
	}
	o.cookie = answer.cookies[0]
	page := o.text(o.request(http.MethodGet, "/preview", ""), http.StatusOK)
	o.form = regexp.MustCompile(`name="token" value="([0-9a-f]{64})"`).FindStringSubmatch(page)[1]
	return o
}

// request returns a request as the person's browser sends it. A request with a body is a form with the token of the
// pages.
func (o *opened) request(method, path, body string) *http.Request {
	o.Helper()
	if method == http.MethodPost && o.form != "" {
		body += "&token=" + o.form
	}
	r, err := http.NewRequestWithContext(o.Context(), method, o.address.String()+path, strings.NewReader(body))
	if err != nil {
		o.Fatal(err)
	}
	if o.cookie != nil {
		r.AddCookie(o.cookie)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", o.address.String())
	}
	return r
}

// send returns the answer to a request. It does not follow redirects. The body of the answer is already read, and can
// be read again.
func (o *opened) send(r *http.Request) reply {
	o.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		o.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		o.Fatal(err)
	}
	_ = answer.Body.Close()
	return reply{StatusCode: answer.StatusCode, Header: answer.Header, cookies: answer.Cookies(), text: string(text)}
}

// reply is an answer of the server with its whole body.
type reply struct {
	StatusCode int
	Header     http.Header
	cookies    []*http.Cookie
	text       string
}

// text returns the body of the answer to a request. The test fails if the answer has another status.
func (o *opened) text(r *http.Request, status int) string {
	o.Helper()
	answer := o.send(r)
	if answer.StatusCode != status {
		o.Errorf("%s %s: status %d, want %d: %.300s", r.Method, r.URL, answer.StatusCode, status, answer.text)
	}
	return answer.text
}

// secret is a text that every view contains and that no foreign request may get.
const secret = "<nav "

// TestForeignRequests sends the requests that a page of another site, or of another port, can make a browser send.
// All
// are refused.
func TestForeignRequests(t *testing.T) {
	o := open(t).enter()
	for name, change := range map[string]func(*http.Request){
		"rebinding":                    func(r *http.Request) { r.Host = "evil.example" },
		"rebinding with the port":      func(r *http.Request) { r.Host = "evil.example:" + o.address.Port() },
		"a host that begins alike":     func(r *http.Request) { r.Host = "127.0.0.1.evil.example:" + o.address.Port() },
		"another port":                 func(r *http.Request) { r.Host = "127.0.0.1:1" },
		"no port":                      func(r *http.Request) { r.Host = "127.0.0.1" },
		"another origin":               func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"the origin of another port":   func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") },
		"an opaque origin":             func(r *http.Request) { r.Header.Set("Origin", "null") },
		"a link of another site":       func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"a request from another port":  func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"two hosts in the host header": func(r *http.Request) { r.Host = o.address.Host + ",evil.example" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/", "/target/Deployment.apps/shop/web", "/events", "/style.css", "/preview"} {
				r := o.request(http.MethodGet, path, "")
				change(r)
				answer := o.send(r)
				if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusBadRequest {
					t.Errorf("%s: status %d", path, answer.StatusCode)
				}
			}
		})
	}
	entered := o.request(http.MethodGet, "/?token="+o.token, "")
	entered.Header.Set("Sec-Fetch-Site", "cross-site")
	o.text(entered, http.StatusForbidden)
	post := o.request(http.MethodPost, "/preview", "manifest=x")
	post.Header.Set("Origin", "https://evil.example")
	o.text(post, http.StatusForbidden)
	post = o.request(http.MethodPost, "/preview", "manifest=x")
	post.Header.Del("Origin")
	o.text(post, http.StatusForbidden)
	o.text(o.request(http.MethodPost, "/", "x=y"), http.StatusMethodNotAllowed)
	o.text(o.request(http.MethodDelete, "/target/Deployment.apps/shop/web", ""), http.StatusMethodNotAllowed)
	if got := o.text(o.request(http.MethodGet, "/", ""), http.StatusOK); !strings.Contains(got, secret) {
		t.Error("the person's own request has no page")
	}
}

// TestTokenWorksOnceAndGuessesAreRefused checks that guessed tokens are refused, and that the right token works only
// once.
func TestTokenWorksOnceAndGuessesAreRefused(t *testing.T) {
	o := open(t)
	for _, path := range []string{"/", "/policies", "/events", "/page.js", "/?token=", "/?token=" + strings.Repeat("0", 64),
		"/?token=" + o.token[:63], "/policies?token=" + o.token} {
		if got := o.text(o.request(http.MethodGet, path, ""), http.StatusUnauthorized); strings.Contains(got, secret) ||
			strings.Contains(got, o.token) {
			t.Errorf("%s: %.300s", path, got)
		}
	}
	o.text(o.request(http.MethodHead, "/?token="+o.token, ""), http.StatusUnauthorized)
	rebound := o.request(http.MethodGet, "/?token="+o.token, "")
	rebound.Host = "evil.example:" + o.address.Port()
	o.text(rebound, http.StatusForbidden)
	linked := o.request(http.MethodGet, "/?token="+o.token, "")
	linked.Header.Set("Sec-Fetch-Site", "cross-site") // the link may stand in a terminal that is a page of another site
	answer := o.send(linked)
	if answer.StatusCode != http.StatusOK || len(answer.cookies) != 1 {
		t.Fatalf("status %d, %d cookies", answer.StatusCode, len(answer.cookies))
	}
	c := answer.cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Value == o.token || len(c.Value) != 64 {
		t.Errorf("cookie %v", c)
	}
	o.text(o.request(http.MethodGet, "/?token="+o.token, ""), http.StatusUnauthorized)
}

// TestCookieOfAnotherPort checks that the cookie of another server on the same machine is refused, under its own name
// and renamed.
func TestCookieOfAnotherPort(t *testing.T) {
	one, other := open(t).enter(), open(t).enter()
	if one.cookie.Name == other.cookie.Name {
		t.Error("servers on two ports overwrite each other's cookies")
	}
	renamed := *other.cookie
	renamed.Name = one.cookie.Name
	for _, c := range []*http.Cookie{other.cookie, &renamed, {Name: one.cookie.Name, Value: ""}, {Name: one.cookie.Name, Value: one.token}} {
		r := one.request(http.MethodGet, "/", "")
		r.Header.Del("Cookie")
		r.AddCookie(c)
		one.text(r, http.StatusUnauthorized)
	}
	r := one.request(http.MethodGet, "/", "") // a server on another port can set a cookie with the same name
	r.Header.Set("Cookie", renamed.String()+"; "+one.cookie.Name+"="+one.cookie.Value)
	one.text(r, http.StatusOK)
}

// TestNoFileOfTheMachineCanBeRead checks that no file of the machine can be read, neither by an address nor by a
// manifest.
func TestNoFileOfTheMachineCanBeRead(t *testing.T) {
	o := open(t).enter()
	for _, path := range []string{"/../../../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/style.css/../../etc/passwd",
		"/target/..%2f..%2f/etc/passwd", "/templates/report.html",
		"/target/Deployment.apps/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd"} {
		r := o.request(http.MethodGet, "/", "")
		r.URL.Opaque = "//" + o.address.Host + path // so that the path is sent unchanged
		answer := o.send(r)
		if answer.StatusCode == http.StatusOK || strings.Contains(answer.text, "root:") {
			t.Errorf("%s: status %d: %.200s", path, answer.StatusCode, answer.text)
		}
	}
	o.text(o.request(http.MethodPost, "/preview", "manifest="+url.QueryEscape("/etc/passwd")), http.StatusUnprocessableEntity)
	if got := o.text(o.request(http.MethodPost, "/preview", "manifest="+strings.Repeat("x", 2<<20)),
		http.StatusUnprocessableEntity); !strings.Contains(got, "too large") {
		t.Errorf("%.300s", got)
	}
}

// TestHeadersForbidFramesScriptsAndCaches checks that each answer, including a refusal, forbids frames, foreign
// scripts and caches.
func TestHeadersForbidFramesScriptsAndCaches(t *testing.T) {
	o := open(t).enter()
	refused := o.request(http.MethodGet, "/", "")
	refused.Host = "evil.example"
	for _, r := range []*http.Request{o.request(http.MethodGet, "/", ""), o.request(http.MethodGet, "/none", ""), refused} {
		h := o.send(r).Header
		if csp := h.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none';") || strings.Contains(csp, "unsafe") ||
			!strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", r.URL, csp)
		}
		if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", r.URL, h)
		}
	}
}

// TestSlowClient checks that clients that do not finish their requests do not hold up other clients.
func TestSlowClient(t *testing.T) {
	o := open(t).enter()
	for range 50 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", o.address.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		// The headers of this request never end.
		_, _ = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nCookie: %s=%s\r\n", o.address.Host, o.cookie.Name, o.cookie.Value)
	}
	for range 10 {
		form := &slowForm{reading: make(chan struct{}), end: make(chan struct{})}
		r := o.request(http.MethodPost, "/preview", "")
		r.Body = form
		done := make(chan struct{})
		go func() {
			defer close(done)
			o.handler.ServeHTTP(httptest.NewRecorder(), r)
		}()
		<-form.reading
		defer func() {
			close(form.end)
			<-done
		}()
	}
	o.text(o.request(http.MethodGet, "/", ""), http.StatusOK)
}

// slowForm is the body of a form that stops in the middle.
type slowForm struct {
	once         sync.Once
	reading, end chan struct{}
}

func (f *slowForm) Read([]byte) (int, error) {
	f.once.Do(func() { close(f.reading) })
	<-f.end
	return 0, io.EOF
}

func (f *slowForm) Close() error { return nil }

// TestManyStreams opens a thousand event streams. The server serves some of them, tells the others to come later, and
// still serves pages.
func TestManyStreams(t *testing.T) {
	o := open(t).enter()
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: 1}}
	served, refused := 0, 0
	for range 1000 {
		answer, err := client.Do(o.request(http.MethodGet, "/events", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		switch answer.StatusCode {
		case http.StatusOK:
			served++
			if line, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil || line != "event: version\n" {
				t.Fatalf("a stream begins with %q, %v", line, err)
			}
		case http.StatusServiceUnavailable:
			refused++
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		default:
			t.Fatalf("status %d", answer.StatusCode)
		}
	}
	if served < 10 || served > 100 || served+refused != 1000 {
		t.Errorf("%d streams are served, %d refused", served, refused)
	}
	o.text(o.request(http.MethodGet, "/", ""), http.StatusOK)
}
