package measure_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/recordedtest"
)

var noon = time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)

// web is a workload with usage between two instants, except for a gap of an hour. Of its sidecar only the memory is
// known.
func web(from, to time.Time) recordedtest.Workload {
	return recordedtest.Workload{
		Namespace: "shop", Pattern: measure.PodsOf("Deployment", "web"), Pods: func() []string { return []string{"web-1-a", "web-1-b"} },
		Used: func(at time.Time) []workload.Sample {
			if at.Before(from) || at.After(to) || at.Hour() == 3 {
				return nil
			}
			return []workload.Sample{
				{At: at, Container: "app", CPU: float64(100 + at.Minute()), Memory: 1 << 27, Replicas: 2, Throttled: 0.25, OOMKills: at.Minute() / 59,
					MemoryLimit: 1 << 28},
				{At: at, Container: "mesh", CPU: -1, Memory: 1 << 20, Replicas: 2},
			}
		},
	}
}

func serve(t *testing.T, h http.Handler, o prometheus.Options, queries map[string]string) *measure.Prometheus {
	t.Helper()
	at := httptest.NewServer(h)
	t.Cleanup(at.Close)
	o.Address = strings.Replace(at.URL, "http://", "http://me:secret@", 1)
	return connect(t, o, queries)
}

func connect(t *testing.T, o prometheus.Options, queries map[string]string) *measure.Prometheus {
	t.Helper()
	server, err := prometheus.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := measure.NewPrometheus(server, queries)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func shop(from, to time.Time) measure.Range {
	return measure.Range{Namespace: "shop", Pods: measure.PodsOf("Deployment", "web"), From: from, To: to, Step: time.Minute}
}

// TestHistoryEqualsTheRecordedSamples: each sample of a history has the recorded values, also over several parts,
// and a gap
// stays a gap.
func TestHistoryEqualsTheRecordedSamples(t *testing.T) {
	fake, from := &recordedtest.Fake{}, noon.Add(-10*24*time.Hour)
	w := web(from, noon)
	fake.Add(w)
	var parts []string
	r := shop(noon.Add(-28*24*time.Hour), noon)
	r.Progress = func(part, of int) { parts = append(parts, fmt.Sprintf("%d/%d", part, of)) }
	got, err := serve(t, fake, prometheus.Options{}, nil).History(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var want []workload.Sample
	for at := from; !at.After(noon); at = at.Add(time.Minute) {
		want = append(want, w.Used(at)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff[:min(len(diff), 2000)])
	}
	if diff := cmp.Diff([]string{"0/5", "1/5", "2/5", "3/5", "4/5", "5/5"}, parts); diff != "" {
		t.Error(diff)
	}
}

// TestPresentUsageEqualsTheMetricsAPI: the present usage from Prometheus has the form of the usage from the metrics
// API.
func TestPresentUsageEqualsTheMetricsAPI(t *testing.T) {
	fake := &recordedtest.Fake{}
	fake.Add(web(noon.Add(-time.Hour), noon))
	got, err := serve(t, fake, prometheus.Options{}, nil).Read(t.Context(), []string{"other", "shop"}, noon)
	pod := measure.Pod{Stamp: strconv.FormatInt(noon.Unix(), 10),
		Containers: []measure.Container{{Name: "app", MilliCPU: 100, MemoryBytes: 1 << 27}, {Name: "mesh", MilliCPU: -1, MemoryBytes: 1 << 20}}}
	want := map[types.NamespacedName]measure.Pod{{Namespace: "shop", Name: "web-1-a"}: pod, {Namespace: "shop", Name: "web-1-b"}: pod}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	if got, err := serve(t, fake, prometheus.Options{}, nil).Read(t.Context(), []string{"other"}, noon); err != nil || len(got) > 0 {
		t.Errorf("of another namespace it has %v, %v", got, err)
	}
}

// TestUnknownPodsDifferFromPodsWithoutReplicas: unknown pods differ from pods without replicas.
func TestUnknownPodsDifferFromPodsWithoutReplicas(t *testing.T) {
	var none *measure.Nothing
	fake := &recordedtest.Fake{}
	if _, err := serve(t, fake, prometheus.Options{}, nil).History(t.Context(), shop(noon.Add(-time.Hour), noon)); !errors.As(err, &none) ||
		!none.Pods {
		t.Errorf("of no pods it says %v", err)
	}
	fake.Add(web(noon.Add(-2*time.Hour), noon))
	s := serve(t, fake, prometheus.Options{}, map[string]string{measure.Replicas: "ready"})
	if _, err := s.History(t.Context(), shop(noon.Add(-time.Hour), noon)); !errors.As(err, &none) || none.Pods ||
		!strings.Contains(err.Error(), "replicas with ready") {
		t.Errorf("without replicas it says %v", err)
	}
}

// TestFaultsAreNamedWithoutCredentials: no error has the credentials of the server. The faults are a server that is
// down, and an answer that is too long, too late or not JSON.
func TestFaultsAreNamedWithoutCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"down": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "out of order", http.StatusServiceUnavailable)
		}, "out of order"},
		"too long": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat(" ", 3000) + `{"status":"success","data":{"resultType":"matrix","result":[]}}`))
		}, "too long"},
		"late": {func(_ http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm() // a server notices a gone client once it has read the request
			<-r.Context().Done()
		}, "deadline exceeded"},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "ask Prometheus at"},
		"no matrix": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`))
		}, "scalar"},
	} {
		s := serve(t, c.handler, prometheus.Options{MaxBytes: 2000, Timeout: 300 * time.Millisecond}, nil)
		_, err := s.History(t.Context(), shop(noon.Add(-30*time.Minute), noon))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), s.Host()) ||
			strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "me:") {
			t.Errorf("%s: it says %v", name, err)
		}
		if _, err = s.Read(t.Context(), []string{"shop"}, noon); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: it says %v of now", name, err)
		}
	}
	s := connect(t, prometheus.Options{Address: "http://me:secret@127.0.0.1:1"}, nil)
	if _, err := s.Read(t.Context(), []string{"shop"}, noon); err == nil || strings.Contains(err.Error(), "secret") ||
		strings.Contains(err.Error(), "me:") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("of a server that is not there it says %v", err)
	}
	for _, bad := range []string{"", "prometheus:9090", "file:///etc/passwd", "http://[", "http://"} {
		if _, err := prometheus.New(prometheus.Options{Address: bad}); err == nil {
			t.Errorf("%q is taken for an address", bad)
		}
	}
}

// TestRangesTooLongForTheServerAreHalved: a range is halved for a server that answers at most two hours in one query.
func TestRangesTooLongForTheServerAreHalved(t *testing.T) {
	fake := &recordedtest.Fake{}
	w := web(noon.Add(-24*time.Hour), noon)
	fake.Add(w)
	narrow := http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
		var from, to float64
		_, _ = fmt.Sscan(r.FormValue("start"), &from)
		_, _ = fmt.Sscan(r.FormValue("end"), &to)
		if to-from > 7200 {
			a.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = a.Write([]byte(`{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory"}`))
			return
		}
		fake.ServeHTTP(a, r)
	})
	r := shop(noon.Add(-24*time.Hour), noon)
	got, err := serve(t, narrow, prometheus.Options{}, nil).History(t.Context(), r)
	want, _ := serve(t, fake, prometheus.Options{}, nil).History(t.Context(), r)
	if diff := cmp.Diff(want, got); diff != "" || err != nil || len(want) < 2000 {
		t.Errorf("%d samples, %v: %s", len(want), err, diff[:min(len(diff), 2000)])
	}
}

// TestTheTokenGoesToTheServerAlone: the token is not sent to another server, even after a redirect.
func TestTheTokenGoesToTheServerAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var elsewhere, here []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here = append(here, r.Header.Get("Authorization"))
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(first.Close)
	s := connect(t, prometheus.Options{Address: first.URL, TokenFile: file}, nil)
	if _, err := s.Read(t.Context(), []string{"shop"}, noon); err == nil {
		t.Error("an empty answer is read")
	}
	if len(here) == 0 || here[0] != "Bearer abc" {
		t.Errorf("the server gets %q", here)
	}
	for _, token := range elsewhere {
		if token != "" {
			t.Errorf("another server gets %q", token)
		}
	}
}

func TestDefaultQueriesAreValid(t *testing.T) {
	r := measure.Range{Namespace: "shop", Pods: measure.PodsOf("StatefulSet", "db"), Step: 90 * time.Second}
	for name := range measure.DefaultQueries {
		if err := measure.CheckQuery(name); err != nil {
			t.Error(err)
		}
		if got := measure.Filled(name, r); !strings.HasPrefix(name, "now_") &&
			(strings.Contains(got, "$") || !strings.Contains(got, `namespace="shop"`) || !strings.Contains(got, `pod=~"db-[0-9]+"`)) {
			t.Errorf("the query of %s is %s", name, got)
		}
	}
	if got := measure.PodsOf("Cluster", "my.db"); got != "my[.]db-.+" {
		t.Errorf("the pods of my.db are %s", got)
	}
	if got := measure.Filled(measure.OOMKills, r); !strings.Contains(got, "offset 1m30s") {
		t.Errorf("the step is not in %s", got)
	}
	got, err := measure.ParseQueries([]string{"cpu=a == 1", "now_time=b"}, measure.CheckQuery)
	if diff := cmp.Diff(map[string]string{"cpu": "a == 1", "now_time": "b"}, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	for _, bad := range []string{"cpu", "cpu= ", "cpus=a"} {
		if _, err := measure.ParseQueries([]string{bad}, measure.CheckQuery); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
