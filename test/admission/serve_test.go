package admission_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"flyball.dev/flyball/engine/admission/serve"
)

// A stopping server keeps answering while it is not ready, and closes connections with an answer. At the end, requests
// under way are answered normally.
func TestShutdownLosesNoRequest(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			opts := options(t, adapters(t))
			opts.Drain = time.Hour
			server, err := serve.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			arrived, release := make(chan struct{}), make(chan struct{})
			server.HandleHTTP("/quick", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { _, _ = fmt.Fprint(w, "done") }))
			server.HandleHTTP("/slow", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				close(arrived)
				<-release
				_, _ = fmt.Fprintf(w, "done, %v", req.Context().Err())
			}))
			running, stop := context.WithCancel(context.Background())
			ctx, end := context.WithCancel(server.Drained(running))
			ended := make(chan error, 1)
			go func() { ended <- server.Start(ctx) }()
			t.Cleanup(func() { end(); stop(); removeConfigurations(t, opts) })
			eventually(t, "ready", func() error { return server.Ready(&http.Request{}) })

			browser := speaking(server, protocol)
			ask := func(path string) (answer string, last bool) {
				resp, err := browser.Post(*server.Client(path).URL, "text/plain", http.NoBody)
				if err != nil {
					return err.Error(), false
				}
				defer func() { _ = resp.Body.Close() }()
				if resp.Proto != protocol {
					t.Errorf("%s was spoken", resp.Proto)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					return err.Error(), false
				}
				return string(body), resp.Close
			}
			if answer, last := ask("/quick"); answer != "done" || last {
				t.Errorf("before: %s, the last on its connection: %t", answer, last)
			}
			slow := make(chan string, 1)
			go func() {
				answer, _ := ask("/slow")
				slow <- answer
			}()
			<-arrived

			stop()
			eventually(t, "not ready", func() error {
				if server.Ready(&http.Request{}) == nil {
					return fmt.Errorf("ready")
				}
				return nil
			})
			for range 3 {
				// HTTP/2 announces it by a frame that the client does not expose.
				if answer, last := ask("/quick"); answer != "done" || last != (protocol == "HTTP/1.1") {
					t.Errorf("stopping: %s, the last on its connection: %t", answer, last)
				}
			}
			end()
			eventually(t, "no connection is accepted", func() error {
				if answer, _ := ask("/quick"); answer == "done" {
					return fmt.Errorf("answered")
				}
				return nil
			})
			select {
			case err := <-ended:
				t.Fatalf("ended with a request under way: %v", err)
			default:
			}
			close(release)
			if answer := <-slow; answer != "done, <nil>" {
				t.Errorf("the request under way: %s", answer)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// speaking returns a client of the server for one protocol.
func speaking(server *serve.Server, protocol string) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.Client("").CABundle)
	var protocols http.Protocols
	protocols.SetHTTP1(protocol == "HTTP/1.1")
	protocols.SetHTTP2(protocol == "HTTP/2.0")
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: &protocols}}
}

func TestServerAnswersWhileItDrains(t *testing.T) {
	for _, drain := range []time.Duration{0, 50 * time.Millisecond} {
		opts := options(t, adapters(t))
		opts.Drain = drain
		server, err := serve.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		running, stop := context.WithCancel(t.Context())
		ctx := server.Drained(running)
		if ctx.Err() != nil {
			t.Error("ended before the stop")
		}
		begin := time.Now()
		stop()
		<-ctx.Done()
		if took := time.Since(begin); took < drain {
			t.Errorf("ended %v after the stop, want at least %v", took, drain)
		}
	}
}
