package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Ports for what tests start are below those that kernels give to outgoing connections (32768 and up on Linux): a port that is
// free between two managers can then not go to a client that happens to connect. They are above those of local clusters.
const (
	firstPort = 30000
	lastPort  = 32767
)

var (
	portsMu sync.Mutex
	// ports are the locks of the ports that this process has. The kernel gives them back when it ends.
	ports []*os.File
)

// Port reserves a port of this machine's loopback address until the process ends: a file lock keeps other processes of this
// user away from it, also while nothing listens on it.
func Port() (int, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	dir := filepath.Join(cache, "flyball", "test-ports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	const span = lastPort - firstPort + 1
	offset := rand.IntN(span)
	for i := range span {
		port := firstPort + (offset+i)%span
		if ok, err := reserve(dir, port); ok || err != nil {
			return port, err
		}
	}
	return 0, fmt.Errorf("find a free port: every one from %d to %d is taken", firstPort, lastPort)
}

// FreePort is Port for a test, which fails where no port is free.
func FreePort(t interface {
	Helper()
	Fatal(args ...any)
}) int {
	t.Helper()
	port, err := Port()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// reserve takes one port. ok is false when another process has it.
func reserve(dir string, port int) (ok bool, err error) {
	lock, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return false, fmt.Errorf("reserve port %d: %w", port, err)
	}
	defer func() {
		if !ok {
			_ = lock.Close()
		}
	}()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil
		}
		return false, fmt.Errorf("reserve port %d: %w", port, err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false, nil // somebody who does not reserve ports listens on it
	}
	if err := listener.Close(); err != nil {
		return false, fmt.Errorf("reserve port %d: %w", port, err)
	}
	portsMu.Lock()
	defer portsMu.Unlock()
	ports = append(ports, lock)
	return true, nil
}
