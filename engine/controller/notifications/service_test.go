package notifications

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
)

// space is a space of no width.
const space = "\u200b"

func TestEachServiceReceivesItsForm(t *testing.T) {
	var body []byte
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { body, _ = io.ReadAll(r.Body) })
	for kind, want := range map[v1alpha1.ServiceType]string{
		v1alpha1.ServiceSlack:      `{"text":"a \u0026lt;b\u0026gt; \u0026amp; c"}`,
		v1alpha1.ServiceMattermost: `{"text":"a \u003c` + space + `b\u003e \u0026 c"}`,
		v1alpha1.ServiceRocketChat: `{"text":"a \u003c` + space + `b\u003e \u0026 c"}`,
		v1alpha1.ServiceGoogleChat: `{"text":"a \u003c` + space + `b\u003e \u0026 c"}`,
		v1alpha1.ServiceDiscord:    `{"allowed_mentions":{"parse":[]},"content":"a \u003cb\u003e \u0026 c"}`,
		v1alpha1.ServiceTeams: `{"attachments":[{"content":{"$schema":"http://adaptivecards.io/schemas/adaptive-card.json",` +
			`"body":[{"text":"a \u003c` + space + `b\u003e \u0026 c","type":"TextBlock","wrap":true}],"type":"AdaptiveCard","version":"1.4"},` +
			`"contentType":"application/vnd.microsoft.card.adaptive"}],"type":"message"}`,
	} {
		service, err := NewService(guard(t, "127.0.0.1"), kind, s.URL)
		if err != nil {
			t.Fatal(err)
		}
		e := envelope()
		e.Text = "a <b> & c"
		if err := service.Send(t.Context(), e); err != nil || string(body) != want {
			t.Errorf("%s: %s, %v", kind, body, err)
		}
	}
}

func TestATextForDiscordIsShortened(t *testing.T) {
	body, err := bodies[v1alpha1.ServiceDiscord](strings.Repeat("ä", 3000))
	var got struct{ Content string }
	if err != nil || json.Unmarshal(body, &got) != nil || len([]rune(got.Content)) != maxDiscord || !strings.HasSuffix(got.Content, "ä...") {
		t.Errorf("%v: %d characters", err, len([]rune(got.Content)))
	}
}

func TestTheTemplateIsTheBodyOfJSON(t *testing.T) {
	var body []byte
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { body, _ = io.ReadAll(r.Body) })
	service, err := NewService(guard(t, "127.0.0.1"), v1alpha1.ServiceJSON, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	e := envelope()
	e.Text = `{"chat_id":1,"text":"asleep"}`
	if err := service.Send(t.Context(), e); err != nil || string(body) != e.Text {
		t.Errorf("%s, %v", body, err)
	}
	e.Text = "asleep"
	if err := service.Send(t.Context(), e); !IsPermanent(err) || !strings.Contains(err.Error(), "spec.template") {
		t.Errorf("%v", err)
	}
}

// A service may redirect, but not to an address that is refused.
func TestARedirectedServiceIsChecked(t *testing.T) {
	for _, to := range []string{"http://169.254.169.254/latest/meta-data", "http://[::1]:1/", "http://10.0.0.1/"} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) })
		service, err := NewService(guard(t, "127.0.0.1"), v1alpha1.ServiceSlack, s.URL)
		if err != nil {
			t.Fatal(err)
		}
		var refused *RefusedError
		if err := service.Send(t.Context(), envelope()); !errors.As(err, &refused) || !IsPermanent(err) {
			t.Errorf("to %s: %v", to, err)
		}
	}
}

// A redirect that turns the POST into a GET would lose the message and look like a success.
func TestARedirectThatLosesTheMessageIsAFailure(t *testing.T) {
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/login", code)
			}
		})
		service, err := NewService(guard(t, "127.0.0.1"), v1alpha1.ServiceMattermost, s.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := service.Send(t.Context(), envelope()); !IsPermanent(err) || !strings.Contains(err.Error(), "redirects") {
			t.Errorf("%d: %v", code, err)
		}
	}
}

// Tenants choose names in texts. No name mentions everybody, or hides an address behind another text.
func TestNamesInTextsMentionNoPersonAndHideNoAddress(t *testing.T) {
	const text = "@all <users/all> [Approve](http://evil.example)"
	for _, kind := range []v1alpha1.ServiceType{v1alpha1.ServiceMattermost, v1alpha1.ServiceRocketChat, v1alpha1.ServiceGoogleChat,
		v1alpha1.ServiceTeams} {
		body, err := bodies[kind](text)
		if err != nil || strings.Contains(string(body), "@all") || strings.Contains(string(body), `\u003cusers`) ||
			strings.Contains(string(body), "](") {
			t.Errorf("%s: %s, %v", kind, body, err)
		}
	}
}

func TestUnusableServices(t *testing.T) {
	for _, address := range []string{"slack://hook:a@webhook", "hooks.slack.com/x", ""} {
		if _, err := NewService(guard(t), v1alpha1.ServiceSlack, address); err == nil ||
			!strings.HasPrefix(err.Error(), "spec.to.service.urlFrom") {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, address := range []string{"https://x", "smtp://h", "smtp://h/?from=a@b.c", "smtp://h/?from=a&to=b", "smtp:///?from=a@b.c&to=a@b.c",
		"smtp://user:secret@h:port/?from=a@b.c&to=a@b.c", "smtp://h/?from=a@b.c&to=" + strings.Repeat("a@b.c,", maxReceivers+1)} {
		_, err := NewEmail(guard(t), address)
		if err == nil || !strings.HasPrefix(err.Error(), "spec.to.service.urlFrom") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := NewEmail(guard(t), "smtp://h/?from=a@b.c&to="+strings.Repeat("a@b.c,", maxReceivers)); err != nil {
		t.Errorf("%d receivers: %v", maxReceivers, err)
	}
}

// mailServer accepts one mail without TLS, or refuses its receivers with the given answer. It returns its address and the lines received.
func mailServer(t *testing.T, receivers string) (address string, lines chan []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	lines = make(chan []string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		lines <- talk(conn, receivers)
	}()
	return l.Addr().String(), lines
}

func talk(conn net.Conn, receivers string) (got []string) {
	_, _ = fmt.Fprint(conn, "220 mail.test ESMTP\r\n")
	in, inside := bufio.NewScanner(conn), false
	for in.Scan() {
		line := in.Text()
		got = append(got, line)
		answer := "250 ok"
		switch {
		case strings.HasPrefix(line, "EHLO"):
			answer = "250-mail.test\r\n250 AUTH PLAIN LOGIN"
		case strings.HasPrefix(line, "AUTH"):
			answer = "235 welcome"
		case inside && line != ".":
			continue
		case inside:
			inside = false
		case strings.HasPrefix(line, "RCPT"):
			answer = receivers
		case line == "DATA":
			inside, answer = true, "354 go on"
		case line == "QUIT":
			_, _ = fmt.Fprint(conn, "221 bye\r\n")
			return got
		}
		_, _ = fmt.Fprint(conn, answer+"\r\n")
	}
	return got
}

func TestAMailArrives(t *testing.T) {
	address, lines := mailServer(t, "250 ok")
	e, err := NewEmail(guard(t, "127.0.0.1"), "smtp://"+address+"/?from=flyball@example.com&to=a@example.com,b@example.com&tls=optional")
	if err != nil {
		t.Fatal(err)
	}
	of := envelope()
	of.Text = "asleep in 15 minutes"
	of.Data.Policy = "Schedule/shop/nights\r\nBcc: evil@example.com"
	if err := e.Send(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	got := <-lines
	for _, want := range []string{"MAIL FROM:<flyball@example.com>", "RCPT TO:<a@example.com>", "RCPT TO:<b@example.com>",
		"asleep in 15 minutes",
		"Message-ID: <4711@flyball.dev>"} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("no line %q in %q", want, got)
		}
	}
	if slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "Bcc") }) {
		t.Errorf("a header was injected: %q", got)
	}
}

func TestMailServersThatAreNotUsed(t *testing.T) {
	clear, _ := mailServer(t, "250 ok")
	refusing, _ := mailServer(t, "550 5.1.1 no such user")
	busy, _ := mailServer(t, "450 4.2.1 later")
	for _, c := range []struct {
		name, address, allowed, text string
		permanent                    bool
	}{
		{"without STARTTLS", "smtp://" + clear + "/?from=a@b.c&to=a@b.c", "127.0.0.1", "STARTTLS", false},
		{"refused receiver", "smtp://" + refusing + "/?from=a@b.c&to=a@b.c&tls=optional", "127.0.0.1", "no such user", true},
		{"busy", "smtp://" + busy + "/?from=a@b.c&to=a@b.c&tls=optional", "127.0.0.1", "later", false},
		{"local", "smtp://user:secret@127.0.0.1:25/?from=a@b.c&to=a@b.c", "10.0.0.1", "--notification-allowed-hosts", true},
		{"local with TLS", "smtps://user:secret@127.0.0.1/?from=a@b.c&to=a@b.c", "10.0.0.1", "--notification-allowed-hosts", true},
	} {
		e, err := NewEmail(guard(t, c.allowed), c.address)
		if err != nil {
			t.Fatal(c.name, err)
		}
		err = e.Send(t.Context(), envelope())
		if err == nil || IsPermanent(err) != c.permanent || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: permanent %t, %v", c.name, IsPermanent(err), err)
		}
	}
}

// A mail server that stays silent or talks without end holds up a message for a limited time and memory.
func TestBadMailServersAreGivenUp(t *testing.T) {
	for name, serves := range map[string]func(net.Conn){
		"an endless line": func(conn net.Conn) {
			for {
				if _, err := conn.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		},
		"a closed connection": func(net.Conn) {},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			if conn, err := l.Accept(); err == nil {
				serves(conn)
				_ = conn.Close()
			}
		}()
		e, err := NewEmail(guard(t, "127.0.0.1"), "smtp://"+l.Addr().String()+"/?from=a@b.c&to=a@b.c")
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Send(t.Context(), envelope()); err == nil || IsPermanent(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A connection to a mail server has an end, before the mail library sets its own.
func TestConnectionsToMailServersEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	conn, err := bounded(guard(t, "127.0.0.1"), 10*time.Millisecond)(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read from a silent server ends with %v", err)
	}
}

// With smtps the connection counts as encrypted, so the password may be sent.
func TestAMailArrivesBySMTPSWithAPassword(t *testing.T) {
	s := httptest.NewUnstartedServer(nil) // for its certificate
	s.StartTLS()
	defer s.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: s.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	lines := make(chan []string, 1)
	go func() {
		if conn, err := l.Accept(); err == nil {
			lines <- talk(conn, "250 ok")
			_ = conn.Close()
		}
	}()
	e, err := NewEmail(guard(t, "127.0.0.1"), "smtps://user:secret@"+l.Addr().String()+"/?from=a@b.c&to=a@b.c")
	if err != nil {
		t.Fatal(err)
	}
	e.roots = x509.NewCertPool()
	e.roots.AddCert(s.Certificate())
	if err := e.Send(t.Context(), envelope()); err != nil {
		t.Fatal(err)
	}
	const login = "AUTH PLAIN AHVzZXIAc2VjcmV0" // the Base64 of \0user\0secret
	if got := <-lines; !slices.Contains(got, login) {
		t.Errorf("no %q in %q", login, got)
	}
}
