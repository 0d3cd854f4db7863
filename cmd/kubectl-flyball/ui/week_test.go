package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
)

// flushed records the part of an answer that the server has sent before the rest is made.
type flushed struct {
	*httptest.ResponseRecorder
	first string
}

func (f *flushed) Flush() {
	if f.first == "" {
		f.first = f.Body.String()
	}
}

// TestManyTargetsPaintEarly checks that the page of many targets begins with their present states before the coming days
// are simulated, that it is complete without a script, and that the page of a known report comes as a whole.
func TestManyTargetsPaintEarly(t *testing.T) {
	var text strings.Builder
	text.WriteString(`{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {namespace: shop, name: nights}, spec: {target:
  {kinds: [{group: apps, kind: Deployment}]}, timeZone: UTC, asleep: [{name: night, from: "20:00", to: "08:00"}]}}`)
	for i := range page.FoldAbove + 1 {
		_, _ = fmt.Fprintf(&text, "\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web-%d}, spec: {replicas: 2}}", i)
	}
	file := filepath.Join(t.TempDir(), "many.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	o := open(t, file).enter()
	paint := func(path string) *flushed {
		w := &flushed{ResponseRecorder: httptest.NewRecorder()}
		o.handler.ServeHTTP(w, o.request(http.MethodGet, path, ""))
		if all := w.Body.String(); !strings.HasSuffix(strings.TrimSpace(all), "</html>") || strings.Count(all, "<main") != 1 {
			t.Errorf("%s is not one whole page: %.200s", path, all)
		}
		return w
	}
	paint("/") // the server makes this report by itself, so the test looks at another zone
	got := paint("/?zone=Asia%2FTokyo")
	if !strings.Contains(got.first, "151 targets, now awake") || strings.Contains(got.first, "replica hours saved") {
		t.Errorf("the first part is %q", got.first)
	}
	if !strings.Contains(got.Body.String(), "replica hours saved") || !strings.Contains(got.Body.String(), "Show 151 targets") {
		t.Error("the page has no week")
	}
	if again := paint("/?zone=Asia%2FTokyo"); again.first != "" || !strings.Contains(again.Body.String(), "replica hours saved") {
		t.Errorf("the page of a known report begins with %q", again.first)
	}
}
