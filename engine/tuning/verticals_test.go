package tuning

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
)

// sourced is a policy with a source.
type sourced struct {
	policy.Tuner
	source policy.Source
}

// Source implements policy.Tuner.
func (s sourced) Source() policy.Source { return s.source }

// TestVerticalsAreRead: all pages are read. If the cluster does not have the kind, only policies that need it have a
// fault. While objects cannot be read, the last read objects stay in use.
func TestVerticalsAreRead(t *testing.T) {
	const item = `{"metadata": {"namespace": "shop", "name": "NAME"}, "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}`
	code, pages := http.StatusOK, true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if code == http.StatusNotFound { // the API server's answer for an unknown group
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(code)
		switch next := r.URL.Query().Get("continue"); {
		case code != http.StatusOK:
			_,
				_ = w.Write(
				[]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "sorry", "reason": "Forbidden", "code": 403}`))
		case next == "" && pages:
			_, _ = w.Write([]byte(`{"metadata": {"continue": "two"}, "items": [` + strings.Replace(item, "NAME", "b", 1) + `]}`))
		default:
			_, _ = w.Write([]byte(`{"items": [` + strings.Replace(item, "NAME", "a", 1) + `]}`))
		}
	}))
	defer server.Close()
	client, err := measure.NewVerticals(&rest.Config{Host: server.URL}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	l := &Actuator{book: newBook(), opts: Options{Verticals: client}}
	web := workload.Ref{Namespace: "shop", Name: "web"}
	web.Group, web.Kind = "apps", "Deployment"
	needs := &policy.Policy{Extras: policy.Extras{Tuner: sourced{source: policy.Source{Vertical: true}}}}
	plain := &policy.Policy{Extras: policy.Extras{Tuner: sourced{}}}
	check := func(what string, known int, ofNeeds, ofPlain string) {
		t.Helper()
		l.readVerticals(t.Context())
		if got := l.verticals.Of(web); len(got) != known {
			t.Errorf("%s: %v are known, want %d", what, got, known)
		}
		for p, want := range map[*policy.Policy]string{needs: ofNeeds, plain: ofPlain} {
			if reason, text := l.book.unmeasured(p); !strings.Contains(text, want) || (text == "") != (want == "") ||
				(want != "") != (reason == noVerticals) {
				t.Errorf("%s: %s, %q is told, want %q", what, reason, text, want)
			}
		}
	}
	check("two pages", 2, "", "")
	if names := l.verticals.Of(web); names[0].Name != "a" {
		t.Errorf("they are not in order: %v", names)
	}
	code = http.StatusForbidden
	check("refused", 2, "read VerticalPodAutoscalers (autoscaling.k8s.io/v1): sorry", "sorry")
	code = http.StatusNotFound
	check("not served", 0, "the cluster does not have that kind", "")
	code, pages = http.StatusOK, false
	check("served again", 1, "", "")
}
