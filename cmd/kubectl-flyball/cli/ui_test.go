package cli_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

// TestUI opens the printed address, sees the week, and ends the server.
func TestUI(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	var errOut strings.Builder
	code := make(chan int, 1)
	go func() {
		args := append([]string{"ui", "--no-browser", "--time-zone=Europe/Berlin"}, strings.Fields(demo)...)
		code <- cli.Run(ctx, args, factory.Env{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: &errOut},
			Now: func() time.Time { return now }})
		_ = write.Close()
	}()
	address, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("the address: %v, exit code %d, %s", err, <-code, errOut.String())
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	see := func(address, want string) {
		t.Helper()
		answer, err := browser.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: status %d, %v: %.600s", address, answer.StatusCode, err, text)
		}
	}
	see(strings.TrimSpace(address), "url=/")
	own, _, _ := strings.Cut(address, "?")
	see(own, "Schedule/shop/office-hours")
	see(own+"target/Deployment.apps/shop/web", ", and decides</span>")
	stop()
	if got := <-code; got != 0 || errOut.Len() > 0 {
		t.Errorf("exit code %d, %s", got, errOut.String())
	}
}
