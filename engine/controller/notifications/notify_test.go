package notifications

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/notify"
)

const key = "YSBrZXkgb2YgdGhpcyB0ZXN0IG9ubHk="

var at = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func guard(t *testing.T, allowed ...string) *Dialer {
	t.Helper()
	g, err := NewDialer(allowed)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func envelope() *Envelope {
	return &Envelope{ID: "4711", Source: "/apis/flyball.dev/v1alpha1/namespaces/shop/notifications/team", Time: at, Text: "asleep",
		Data: notify.Data{Event: "Asleep", Policy: "Schedule/shop/nights", Kind: "Schedule", Namespace: "shop", Name: "nights",
			At: at.Format(time.RFC3339), Details: []string{"asleep"}, Count: 1}}
}

func send(t *testing.T, g *Dialer, url string) error {
	t.Helper()
	w, err := NewWebhook(g, url, key, func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	return w.Send(t.Context(), envelope())
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestPrivateAddressesAreRefusedUnlessAllowed(t *testing.T) {
	g := guard(t, "10.1.0.0/16", "192.0.2.7", "*.corp.example", "fd00:1::/32")
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "10.1.2.3": true, "192.0.2.7": true, "fd00:1::5": true,
		"10.2.0.1": false, "127.0.0.1": false, "::1": false, "169.254.169.254": false, "fe80::1": false, "0.0.0.0": false, "::": false,
		"224.0.0.1": false, "ff02::1": false, "172.16.0.1": false, "192.168.1.1": false, "100.64.0.1": false, "0.1.2.3": false,
		"fd00:2::1": false, "::ffff:127.0.0.1": false, "::ffff:10.2.0.1": false, "::ffff:10.1.0.1": true, "64:ff9b::7f00:1": false,
		"64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false, "::127.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false,
	} {
		if err := g.check(netip.AddrPortFrom(netip.MustParseAddr(address), 443).String(), false); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	for address, want := range map[string]bool{"10.2.0.1": true, "127.0.0.1": true, "169.254.169.254": false, "::ffff:169.254.169.254": false,
		"64:ff9b::a9fe:a9fe": false, "0.0.0.0": false, "224.0.0.1": false} {
		if err := g.check(netip.AddrPortFrom(netip.MustParseAddr(address), 443).String(), true); (err == nil) != want {
			t.Errorf("%s of an allowed host: %v", address, err)
		}
	}
	for host, want := range map[string]bool{"chat.corp.example": true, "CHAT.corp.example.": true, "corp.example": false,
		"corp.example.evil": false} {
		if got := g.allowsHost(host); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
	for _, bad := range []string{"", "https://x", "x:80", "[", "a@b"} {
		if _, err := NewDialer([]string{bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestAWebhookReceivesASignedCloudEvent(t *testing.T) {
	var got http.Header
	var body []byte
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r.Header
		body, _ = io.ReadAll(r.Body)
	})
	if err := send(t, guard(t, "127.0.0.1"), s.URL); err != nil {
		t.Fatal(err)
	}
	if want := "v1," + Sign([]byte("a key of this test only"), "4711", "1772452800", body); got.Get("Webhook-Signature") != want ||
		got.Get("Webhook-Id") != "4711" ||
		got.Get("Webhook-Timestamp") != "1772452800" || !strings.HasPrefix(got.Get("Content-Type"), "application/cloudevents+json") {
		t.Errorf("headers: %v", got)
	}
	var e map[string]any
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"specversion": "1.0", "id": "4711", "type": "dev.flyball.Asleep",
		"source":  "/apis/flyball.dev/v1alpha1/namespaces/shop/notifications/team",
		"subject": "Schedule/shop/nights", "time": "2026-03-02T12:00:00Z", "datacontenttype": "application/json"} {
		if e[name] != want {
			t.Errorf("%s is %v", name, e[name])
		}
	}
}

// The example of the Standard Webhooks specification.
func TestSignaturesAreThoseOfStandardWebhooks(t *testing.T) {
	for _, key := range []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		w, err := NewWebhook(guard(t), "https://example.com", key, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		got := Sign(w.key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
		if want := "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
}

func TestUnusableSecrets(t *testing.T) {
	for _, c := range [][2]string{{"example.com", key}, {"ftp://example.com", key}, {"https://", key}, {"https://example.com", "short"},
		{"https://example.com", "whsec_!"}, {"https://example.com", "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		{"https://example.com", "a key of plain text"}, {"https://example.com", "whsec_c2hvcnQ="}, {"http://a b", key},
		{"https://example.com", strings.TrimSuffix(key, "=")}, {"https://example.com", "MfKQ9r8GKYqr\nTwjUPD8ILPZIo2LaLaSw"},
		{"https://example.com", "whsec_-_KQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}} {
		_, err := NewWebhook(guard(t), c[0], c[1], time.Now)
		if err == nil || !strings.HasPrefix(err.Error(), "spec.to.webhook.") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestAnswersOfAServicePermanentOrRetried(t *testing.T) {
	for _, c := range []struct {
		name      string
		answer    http.HandlerFunc
		permanent bool
		text      string
	}{
		{"failing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, false,
			"the receiver answered 500"},
		{"busy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, false, "the receiver answered 429"},
		{"refusing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, true, "the receiver answered 404"},
		{"redirecting to metadata", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		}, true, "redirects are not followed"},
		{"a huge header", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 2*maxHeader))
		}, false, "headers exceeded"},
		{"an endless body", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusOK)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}, false, ""},
		{"a broken connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.answer)
			err := send(t, guard(t, "127.0.0.1"), s.URL+"/?token=secret")
			if c.text == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || IsPermanent(err) != c.permanent || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("permanent %t: %v", IsPermanent(err), err)
			}
		})
	}
}

func TestASlowReceiverIsGivenUp(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the client has gone
		<-r.Context().Done()
	})
	w, err := NewWebhook(guard(t, "127.0.0.1"), s.URL+"/secret", key, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	w.client.Timeout = 50 * time.Millisecond
	if err := w.Send(t.Context(), envelope()); err == nil || IsPermanent(err) || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Send(ctx, envelope()); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestLocalAddressesAreRefused(t *testing.T) {
	var reached atomic.Bool
	s := serve(t, func(http.ResponseWriter, *http.Request) { reached.Store(true) })
	port := s.Listener.Addr().(*net.TCPAddr).Port
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		err := send(t, guard(t, "10.0.0.0/8"), "http://"+net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(port)))
		var refused *RefusedError
		if !errors.As(err, &refused) || !IsPermanent(err) || !strings.Contains(err.Error(), "--notification-allowed-hosts") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if reached.Load() {
		t.Error("the server was reached")
	}
}

// A name that first has a public address and then a local one is resolved for each connection, and the address is checked that is used.
func TestAChangedAnswerOfDNSIsRefused(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	port := strconv.Itoa(s.Listener.Addr().(*net.TCPAddr).Port)
	var answer atomic.Pointer[[4]byte]
	g := guard(t, "127.0.0.1")
	g.Resolver = &net.Resolver{PreferGo: true, Dial: dns(t, &answer)}
	answer.Store(&[4]byte{127, 0, 0, 1})
	if err := send(t, g, "http://receiver.test.:"+port); err != nil {
		t.Fatalf("at the allowed address: %v", err)
	}
	answer.Store(&[4]byte{169, 254, 169, 254})
	var refused *RefusedError
	if err := send(t, g, "http://receiver.test.:"+port); !errors.As(err, &refused) || refused.Address != "169.254.169.254" {
		t.Errorf("at the changed address: %v", err)
	}
}

// dns returns a function that connects to a name server with one answer.
func dns(t *testing.T, answer *atomic.Pointer[[4]byte]) func(ctx context.Context, network, address string) (net.Conn, error) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body: &dnsmessage.AResource{A: *answer.Load()}}}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(out, from)
			}
		}
	}()
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}
}

func TestMailAddressesMayHaveAPlusAndBeInSeveralParameters(t *testing.T) {
	e, err := NewEmail(guard(t),
		"smtp://mail.example.com/?from=fly+ball@example.com&to=ops+night@example.com&to=a@example.com,b%2Bc@example.com")
	if err != nil {
		t.Fatal(err)
	}
	got, want := strings.Join(e.to, " "), "ops+night@example.com a@example.com b+c@example.com"
	if got != want || e.from != "fly+ball@example.com" {
		t.Errorf("from %s to %s", e.from, got)
	}
}

func TestTeamsShowsEachLine(t *testing.T) {
	body, err := bodies[v1alpha1.ServiceTeams]("first\nsecond\n\nthird")
	if err != nil {
		t.Fatal(err)
	}
	if want := `"text":"first\n\nsecond\n\nthird"`; !strings.Contains(string(body), want) {
		t.Errorf("%s", body)
	}
}
