package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// findSource returns the directory of the module test/cluster in the repository of the working directory.
func findSource() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		raw, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("find the repository: %w", err)
		}
		if bytes.HasPrefix(raw, []byte("module flyball.dev/flyball\n")) {
			return filepath.Join(dir, "test", "cluster"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of module flyball.dev/flyball in %s or above it", start)
		}
	}
}

// buildCommand builds flyball-cluster once per state of its sources and returns the path of the program.
func buildCommand(ctx context.Context, source string) (string, error) {
	key, err := sourceKey(source)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache directory: %w", err)
	}
	dir := filepath.Join(cache, "flyball", "command-"+key)
	program := filepath.Join(dir, "flyball-cluster")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of flyball-cluster: %w", err)
	}
	// Test binaries of several packages may build at the same time. Each uses its own directory, and the last rename
	// wins.
	aside, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", fmt.Errorf("make the directory of flyball-cluster: %w", err)
	}
	defer func() { _ = os.RemoveAll(aside) }() // leftovers stay in the cache
	built := filepath.Join(aside, "flyball-cluster")
	build := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-o", built, "./cmd/flyball-cluster")
	build.Dir = source
	build.Env = append(os.Environ(), "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build flyball-cluster in %s: %w\n%s", source, err, output)
	}
	if err := os.Rename(built, program); err != nil {
		return "", fmt.Errorf("put flyball-cluster in place: %w", err)
	}
	return program, nil
}

// sourceKey returns a hash of the Go files of the command and its library.
func sourceKey(source string) (string, error) {
	hash := sha256.New()
	for _, pattern := range []string{"go.mod", "*.go", "cmd/flyball-cluster/*.go"} {
		files, err := filepath.Glob(filepath.Join(source, pattern))
		if err != nil {
			return "", fmt.Errorf("list the sources of flyball-cluster: %w", err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				return "", fmt.Errorf("read the sources of flyball-cluster: %w", err)
			}
			_, _ = fmt.Fprintln(hash, filepath.Base(file), len(raw)) // a hash never fails
			hash.Write(raw)
		}
	}
	_, _ = fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// tail passes output on and keeps the end of it.
type tail struct {
	to   io.Writer
	mu   sync.Mutex
	last []byte
}

const tailBytes = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if extra := len(t.last) - tailBytes; extra > 0 {
		t.last = append([]byte(nil), t.last[extra:]...)
	}
	return t.to.Write(p)
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.last))
}
