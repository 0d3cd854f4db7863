package harness

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// probeEvery is the interval of readiness probes, and so the maximum delay of the Service.
const probeEvery = 500 * time.Millisecond

// Service forwards connections to its endpoints as kube-proxy does: each new connection goes to a random ready
// endpoint, whether or not it accepts. An established connection stays with its endpoint, ready or not, until either
// side ends or breaks the connection. Without a ready endpoint a connection is refused. An endpoint is ready as long as
// its probe succeeds.
type Service struct {
	listener net.Listener
	done     chan struct{}

	mu        sync.Mutex
	endpoints []*endpoint
	refused   int
}

type endpoint struct {
	address, probe string
	ready          bool
	open           int
}

// NewService starts a Service on a free port of this machine.
func NewService() (*Service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a Service: %w", err)
	}
	s := &Service{listener: listener, done: make(chan struct{})}
	go s.serve()
	return s, nil
}

// Port returns the port of the Service.
func (s *Service) Port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// Close stops the Service.
func (s *Service) Close() error {
	close(s.done)
	return s.listener.Close()
}

// Add adds an endpoint with the URL of its readiness probe.
func (s *Service) Add(address, probe string) {
	e := &endpoint{address: address, probe: probe}
	s.mu.Lock()
	s.endpoints = append(s.endpoints, e)
	s.mu.Unlock()
	go func() {
		for {
			ready := probed(e.probe)
			s.mu.Lock()
			e.ready = ready
			s.mu.Unlock()
			select {
			case <-s.done:
				return
			case <-time.After(probeEvery):
			}
		}
	}()
}

func probed(url string) bool {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Ready reports whether new connections may go to an endpoint.
func (s *Service) Ready(address string) bool {
	ready, _ := s.state(address)
	return ready
}

// Gone reports whether an endpoint is not ready and has no connection.
func (s *Service) Gone(address string) bool {
	ready, open := s.state(address)
	return !ready && open == 0
}

func (s *Service) state(address string) (ready bool, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range slices.Backward(s.endpoints) { // an ended endpoint may have had the same address
		if e.address == address {
			return e.ready, e.open
		}
	}
	return false, 0
}

// Refused returns the number of connections refused so far, by an endpoint assumed ready or for lack of an endpoint.
func (s *Service) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

func (s *Service) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		go s.lead(conn.(*net.TCPConn))
	}
}

// pick returns an endpoint and counts a connection to it.
func (s *Service) pick() *endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range rand.Perm(len(s.endpoints)) {
		if e := s.endpoints[i]; e.ready {
			e.open++
			return e
		}
	}
	return nil
}

func (s *Service) lead(from *net.TCPConn) {
	e := s.pick()
	var to net.Conn
	err := errors.New("no endpoint is ready")
	if e != nil {
		defer func() {
			s.mu.Lock()
			e.open--
			s.mu.Unlock()
		}()
		to, err = net.Dial("tcp", e.address)
	}
	if err != nil {
		s.mu.Lock()
		s.refused++
		s.mu.Unlock()
		abort(from)
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pass(to.(*net.TCPConn), from) })
	both.Go(func() { pass(from, to.(*net.TCPConn)) })
	both.Wait()
	_, _ = from.Close(), to.Close()
}

// pass copies data in one direction, and passes on whether the stream ended in order or broke.
func pass(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		abort(to)
		abort(from)
		return
	}
	_ = to.CloseWrite()
}

// abort resets a connection.
func abort(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}
