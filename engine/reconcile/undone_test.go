package reconcile

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/test/worldtest"
)

// The server accepts every patch and changes nothing. Only pauses limit the number of writes, even if the object is
// edited in between.
func TestWritesWithoutEffectAreNotRepeatedOnEveryEdit(t *testing.T) {
	var patches atomic.Int32
	s := newScene(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		patches.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"web-1","resourceVersion":"7"}}`))
	}))
	obj := worldtest.Project(t, s.kind.Kind, worldtest.Deployment("web-1", 3, ""))
	s.objects.Put(obj)
	s.add(t, kindThat(t, func(*policy.Policy) {}), nights)
	for range 5 { // the first write, and one for each edit
		if err := s.process(t.Context(), webs(1)); err != nil {
			t.Fatal(err)
		}
	}
	if got := patches.Load(); got != 1 {
		t.Errorf("%d patches were sent, want 1", got)
	}
	const admissionWebhook = "an admission webhook"
	if got := s.contest.Writer(webs(1)); got != admissionWebhook {
		t.Errorf("contested with %q, want %q", got, admissionWebhook)
	}
	for i, pause := range []time.Duration{15 * time.Second, time.Minute} {
		s.clock.Step(pause)
		for range 5 {
			if err := s.process(t.Context(), webs(1)); err != nil {
				t.Fatal(err)
			}
		}
		if got := patches.Load(); got != int32(i+2) {
			t.Errorf("%d patches were sent after %s more, want %d", got, pause, i+2)
		}
	}
	if why := s.look(t, nights).Conditions; !strings.Contains(conditionText(why, "Contested"), admissionWebhook) {
		t.Errorf("the status does not name the webhook: %v", why)
	}
}

// conditionText returns the message of a condition.
func conditionText(all []metav1.Condition, kind string) string {
	for _, c := range all {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}
