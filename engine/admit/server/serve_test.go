package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flyball.dev/flyball/engine/admit/gate"
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
		server := over(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			gate.Known(req)
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
