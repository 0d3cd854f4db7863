package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Prometheus configures a Prometheus server.
type Prometheus struct {
	// Binary is the program. Config is the text of its configuration file.
	Binary, Config string
	// Data is the directory of its database. Empty means a temporary directory of the test.
	Data  string
	Flags []string
}

// Start starts the server and does not wait until it is ready. It ends with the test, or when stop is called.
func (p Prometheus) Start(t testing.TB) (url string, stop func()) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, []byte(p.Config), 0o600); err != nil {
		t.Fatal(err)
	}
	if p.Data == "" {
		p.Data = filepath.Join(dir, "data")
	}
	address := fmt.Sprintf("127.0.0.1:%d", FreePort(t))
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	flags := append([]string{"--config.file=" + file, "--storage.tsdb.path=" + p.Data, "--web.listen-address=" + address, "--log.level=warn"},
		p.Flags...)
	cmd := exec.CommandContext(ctx, p.Binary, flags...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		_ = log.Close()
	})
	t.Cleanup(func() {
		stop()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("Prometheus said:\n%s", text)
		}
	})
	return "http://" + address, stop
}
