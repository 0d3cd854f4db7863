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
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

// lists receives each printed list of a verb with --watch.
type lists chan string

func (l lists) Write(text []byte) (int, error) {
	l <- string(bytes.Clone(text))
	return len(text), nil
}

// TestWatchedAnswersAreRepeatedOnlyWhenTheyChange checks that --watch of each verb prints the answer again only when
// the answer has changed, until the verb is stopped.
func TestWatchedAnswersAreRepeatedOnlyWhenTheyChange(t *testing.T) {
	const schedule = `
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {name: nights, namespace: shop}
spec: {upscale: "0 8 * * *", downscale: "0 20 * * *"}
`
	const web = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
`
	both := web + strings.ReplaceAll(web, "web", "api")
	renamed := strings.Replace(schedule, "metadata: {name: nights", "metadata: {name: evenings", 1)
	for name, tc := range map[string]struct {
		verb []string
		// texts are the manifests one after the other, and want has a part of the answer to each.
		texts, want []string
	}{
		"status": {[]string{"status"}, []string{schedule + web, schedule + both, renamed + both},
			[]string{"1 awake", "2 awake", "Schedule/shop/evenings"}},
		"targets": {[]string{"status", "--targets"}, []string{schedule + web, schedule + both},
			[]string{"1 object,", "Deployment.apps/shop/api"}},
		"an object": {[]string{"explain", "deployment/web"}, []string{schedule + web, renamed + both},
			[]string{"shop/nights asks", "shop/evenings asks"}},
		"a policy": {[]string{"explain", "schedule/nights"}, []string{schedule + web, schedule + both}, []string{"shop/web", "shop/api"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watching(t, tc.verb, tc.texts, tc.want)
		})
	}
}

// watching writes manifests one after the other, and expects an answer of a watching verb to each.
func watching(t *testing.T, verb, texts, want []string) {
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
	write(texts[0])
	ctx, stop := context.WithCancel(t.Context())
	out, code := make(lists), make(chan int, 1)
	var errOut strings.Builder
	go func() {
		code <- cli.Run(ctx, append(verb, "-w", "--offline", file, "-n", "shop", "--time-zone=UTC"),
			factory.Env{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: &errOut},
				Now: func() time.Time { return now }})
	}()
	for i, part := range want {
		if i > 0 {
			write(texts[i])
		}
		select {
		case text := <-out:
			if !strings.Contains(text, part) {
				t.Errorf("answer %d lacks %q:\n%s", i, part, text)
			}
		case c := <-code:
			t.Fatalf("it ended with %d: %s", c, errOut.String())
		}
	}
	stop()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d, %s", got, errOut.String())
	}
}
