package serve

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// keptByAPIServers is how long an API server keeps an unused connection.
const keptByAPIServers = 90 * time.Second

// dialed is a listener of in-memory connections.
type dialed chan net.Conn

func (d dialed) Accept() (net.Conn, error) {
	conn, ok := <-d
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (d dialed) Close() error   { return nil }
func (d dialed) Addr() net.Addr { return &net.TCPAddr{} }

func (d dialed) dial() net.Conn {
	client, server := net.Pipe()
	d <- server
	return client
}

// An API server opens connections in advance and may use or reuse one up to 90 s later, so the API server must be the
// side that closes it. A client that never authenticates is disconnected, whether it sends nothing or never finishes.
func TestUnusedConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := make(dialed)
		server := over(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "here")
		}))
		stopped := make(chan error, 1)
		go func() { stopped <- server.Serve(listener) }()
		honest, silent, slow := listener.dial(), listener.dial(), listener.dial()
		if _, err := io.WriteString(slow, "POST /judge HTTP/1.1\r\nHost:"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		answers := bufio.NewReader(honest)
		for _, use := range []string{"the first time", "again"} {
			time.Sleep(keptByAPIServers)
			if _, err := io.WriteString(honest, "POST /judge HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"); err != nil {
				t.Fatalf("%s: %v", use, err)
			}
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatalf("%s: %v", use, err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || string(body) != "here" {
				t.Errorf("%s: %q, %v", use, body, err)
			}
		}
		for name, conn := range map[string]net.Conn{"silent": silent, "slow": slow} {
			text, err := io.ReadAll(conn)
			if left := string(text); err != nil || left != "" && !strings.HasPrefix(left, "HTTP/1.1 4") {
				t.Errorf("a client that is %s reads %q, %v", name, left, err)
			}
		}
		if took := time.Since(began); took > 2*keptByAPIServers+time.Second {
			t.Errorf("the strangers were there for %v", took)
		}
		_ = honest.Close()
		close(listener)
		if err := <-stopped; !errors.Is(err, net.ErrClosed) {
			t.Errorf("it stopped: %v", err)
		}
		_ = server.Close()
	})
}

// Public paths are open to every client. If client certificates are required, no other path is.
func TestRequestsAreRoutedByPath(t *testing.T) {
	proven := &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
	for _, test := range []struct {
		path, clientCA string
		tls            *tls.ConnectionState
		want           string
		code           int
	}{
		{path: "/public", want: "public", code: http.StatusOK},
		{path: "/public", clientCA: "ca.crt", want: "public", code: http.StatusOK},
		{path: "/public/open", code: http.StatusNotFound},
		{path: "/judge", want: "judge", code: http.StatusOK},
		{path: "/judge/open", want: "judge", code: http.StatusOK},
		{path: "/elsewhere", code: http.StatusNotFound},
		{path: "/judge", clientCA: "ca.crt", tls: &tls.ConnectionState{}, code: http.StatusForbidden},
		{path: "/judge", clientCA: "ca.crt", code: http.StatusForbidden},
		{path: "/judge", clientCA: "ca.crt", tls: proven, want: "judge", code: http.StatusOK},
	} {
		t.Run(test.path+" "+test.clientCA, func(t *testing.T) {
			came := ""
			say := func(who string) http.Handler {
				return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came += who })
			}
			s := &Server{web: webhook.NewServer(webhook.Options{}), options: Options{ClientCA: test.clientCA, Log: testr.New(t)}}
			s.HandlePublic("/public", say("public"))
			s.HandleHTTP("/judge", say("judge"))
			req := httptest.NewRequest(http.MethodPost, test.path, strings.NewReader("{}"))
			req.TLS = test.tls
			reply := httptest.NewRecorder()
			s.route().ServeHTTP(reply, req)
			if came != test.want || reply.Code != test.code {
				t.Errorf("got to %q with %d, want %q with %d", came, reply.Code, test.want, test.code)
			}
		})
	}
}

// Before the first certificate a client would meet a TLS error, so the server does not listen yet. The fault was seen
// for one to two seconds after each restart.
func TestNoConnectionBeforeTheCertificate(t *testing.T) {
	made, err := issue([]string{"localhost"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{}
		k.current.Store(&kept{replaced: make(chan struct{})})
		listens := make(chan bool, 1)
		go func() { listens <- k.await(t.Context()) }()
		synctest.Wait()
		select {
		case listening := <-listens:
			t.Fatalf("without a certificate the wait ends: %v", listening)
		default:
		}
		k.serve(&kept{serving: made.serving, bundle: made.cert})
		if !<-listens {
			t.Error("with a certificate it does not listen")
		}
	})
}
