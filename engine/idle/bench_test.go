package idle

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/test/worldtest"
)

// BenchmarkLookAtTargets measures one answer with a series for each of 2,000 targets, from the JSON of the server to the world.
func BenchmarkLookAtTargets(b *testing.B) {
	const targets = 2000
	s := newStand(b, false)
	var answer strings.Builder
	for i := range targets {
		name := "web-" + strconv.Itoa(i)
		s.objects.Put(worldtest.Project(b, worldtest.Kind(b, worldtest.Deployments), worldtest.Deployment(name, 3, "")))
		fmt.Fprintf(&answer, `{"metric":{"namespace":"shop","name":%q},"value":[%d,"0"]},`, name, noon.Unix())
	}
	text := `{"status":"success","data":{"resultType":"vector","result":[` + answer.String() +
		fmt.Sprintf(`{"metric":{"flyball_selector":"0"},"value":[%d,"1"]}]}}`, noon.Unix())
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
	defer at.Close()
	real, err := prometheus.New(prometheus.Options{Address: at.URL})
	if err != nil {
		b.Fatal(err)
	}
	s.watcher.server, s.answered = real, noon
	for b.Loop() {
		s.round(b.Context())
	}
	if n, fault := len(s.uses), s.fault(); n < targets || fault != "" {
		b.Fatalf("%d targets, %s", n, fault)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(time.Millisecond), "ms/look")
}
