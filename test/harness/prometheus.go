package harness

import (
	"cmp"
	"fmt"
	"io"
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
	// Data is the directory of its database. Empty means a temporary directory.
	Data  string
	Flags []string
}

// Start starts the server and does not wait until it is ready. It ends with the test, or when stop is called.
func (p Prometheus) Start(t testing.TB) (url string, stop func()) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	url, end, err := p.Run(t.TempDir(), log)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		end()
		_ = log.Close()
	})
	t.Cleanup(func() {
		stop()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("Prometheus said:\n%s", text)
		}
	})
	return url, stop
}

// Run starts the server with its files in a directory, and does not wait until it is ready. It ends when stop is called.
func (p Prometheus) Run(dir string, log io.Writer) (url string, stop func(), err error) {
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, []byte(p.Config), 0o600); err != nil {
		return "", nil, fmt.Errorf("configure Prometheus: %w", err)
	}
	port, err := Port()
	if err != nil {
		return "", nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	flags := append([]string{"--config.file=" + file, "--storage.tsdb.path=" + cmp.Or(p.Data, filepath.Join(dir, "data")),
		"--web.listen-address=" + address, "--log.level=warn"}, p.Flags...)
	stop, err = start(exec.Command(p.Binary, flags...), log)
	return "http://" + address, stop, err
}
