package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
)

// lists receives each printed list of status --watch.
type lists chan string

func (l lists) Write(text []byte) (int, error) {
	l <- string(bytes.Clone(text))
	return len(text), nil
}

// TestStatusWatches checks that status --watch prints the list again only when the list has changed, until the verb is
// stopped.
func TestStatusWatches(t *testing.T) {
	const nights = `
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {name: nights, namespace: shop}
spec: {upscale: "0 8 * * *", downscale: "0 20 * * *"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
`
	file := filepath.Join(t.TempDir(), "objects.yaml")
	write := func(text string) {
		t.Helper()
		next := file + ".next"
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, file); err != nil { // renaming keeps the verb from reading a half-written file
			t.Fatal(err)
		}
	}
	write(nights)
	ctx, stop := context.WithCancel(t.Context())
	out, code := make(lists), make(chan int, 1)
	var errOut strings.Builder
	go func() {
		code <- cli.Run(ctx, []string{"status", "--watch", "--offline", file, "-n", "shop", "--time-zone=UTC"},
			cli.Env{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: &errOut},
				Now: func() time.Time { return now }})
	}()
	next := func(want string) {
		t.Helper()
		select {
		case text := <-out:
			if !strings.Contains(text, want) {
				t.Errorf("the list lacks %q:\n%s", want, text)
			}
		case c := <-code:
			t.Fatalf("it ended with %d: %s", c, errOut.String())
		}
	}
	next("1: 1")
	write(nights + strings.ReplaceAll(nights[strings.LastIndex(nights, "---"):], "web", "api"))
	next("2: 2")
	write(strings.Replace(nights, "metadata: {name: nights", "metadata: {name: evenings", 1))
	next("Schedule/shop/evenings")
	stop()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d, %s", got, errOut.String())
	}
}
