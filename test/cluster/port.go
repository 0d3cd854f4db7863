package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// The ports are below the kernel's range for outgoing connections (32768 and up on Linux). So no outgoing connection
// can take the port of a stopped API server. Also, a client that reconnects to this port cannot become connected to
// itself.
const (
	firstPort = 20000
	lastPort  = 29999
)

// ports hands out loopback ports unused by other clusters of this user.
type ports struct {
	dir  string
	held []*os.File
}

func newPorts() (*ports, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "ports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the port directory: %w", err)
	}
	return &ports{dir: dir}, nil
}

// take reserves a free port until release. A file lock keeps other clusters away from it even while no process listens.
func (p *ports) take() (int, error) {
	const span = lastPort - firstPort + 1
	offset := rand.IntN(span)
	for i := range span {
		port := firstPort + (offset+i)%span
		lock, ok, err := tryLock(filepath.Join(p.dir, strconv.Itoa(port)))
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			lock.Close()
			continue
		}
		listener.Close()
		p.held = append(p.held, lock)
		return port, nil
	}
	return 0, fmt.Errorf("no free port from %d to %d", firstPort, lastPort)
}

func (p *ports) release() {
	for _, lock := range p.held {
		lock.Close()
	}
	p.held = nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
