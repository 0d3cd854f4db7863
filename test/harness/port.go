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

// The ports for tests are below the range for outgoing connections of the kernel (32768 and up on Linux), so that an
// outgoing connection cannot take a port that is free between two managers. They are above the ports of local clusters.
const (
	firstPort = 30000
	lastPort  = 32767
)

var (
	portsMu sync.Mutex
	// ports are the locks of this process's ports. The kernel releases them when the process ends.
	ports []*os.File
)

// Port reserves a port on the loopback address until the process ends. A file lock keeps other processes of this user
// away from it, even while no process listens.
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

// FreePort is Port for a test, which fails if no port is free.
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

// reserve takes a port. ok is false if a second process holds the port.
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
		return false, nil // another program listens on it
	}
	if err := listener.Close(); err != nil {
		return false, fmt.Errorf("reserve port %d: %w", port, err)
	}
	portsMu.Lock()
	defer portsMu.Unlock()
	ports = append(ports, lock)
	return true, nil
}
