package measure

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// TestParseAcceptsAllUnitsOfTheMetricsAPI reads an answer of the API in all units that the API uses: n, u, m or no
// suffix for cores, and Ki for
// bytes.
func TestParseAcceptsAllUnitsOfTheMetricsAPI(t *testing.T) {
	got, err := parse([]byte(`{"kind":"PodMetricsList","items":[
		{"metadata":{"name":"web-1","namespace":"shop"},"timestamp":"2037-01-05T12:00:00Z","window":"15s","containers":[
			{"name":"app","usage":{"cpu":"123500u","memory":"102400Ki"}},{"name":"proxy","usage":{"cpu":"1500u","memory":"1Mi"}}]},
		{"metadata":{"name":"web-2","namespace":"shop"},"timestamp":"2037-01-05T12:00:01Z","containers":[]}]}`))
	want := map[types.NamespacedName]Pod{
		{Namespace: "shop", Name: "web-1"}: {Stamp: "2037-01-05T12:00:00Z",
			Containers: []Container{{"app", 123.5, 100 << 20}, {"proxy", 1.5, 1 << 20}}},
		{Namespace: "shop", Name: "web-2"}: {Stamp: "2037-01-05T12:00:01Z", Containers: []Container{}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	// A value that a server omits or gets wrong is unknown, and not zero.
	got,
		err = parse(
		[]byte(
			`{"items":[{"metadata":{"name":"web-1","namespace":"shop"},"containers":[{"name":"app","usage":{"cpu":"-5m"}},{"name":"proxy"},{"name":"idle","usage":{"cpu":"0","memory":"0"}}]}]}`))
	want = map[types.NamespacedName]Pod{{Namespace: "shop",
		Name: "web-1"}: {Containers: []Container{{"app", -1, -1}, {"proxy", -1, -1}, {"idle", 0, 0}}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	for _, bad := range []string{"", "[]", `{"items":[{"containers":7}]}`} {
		if _, err := parse([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestErrorOfAFailedRequestHasTheServersText: the error of a failed request has the text of the server.
func TestErrorOfAFailedRequestHasTheServersText(t *testing.T) {
	for answer, want := range map[string]string{
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503,"message":"no kubelet has been scraped yet"}`: "no kubelet has been scraped yet",
		`error trying to reach service: dial tcp 10.0.0.7:4443: connect: connection refused`:                                                          "connection refused",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if answer[0] == '{' {
				w.Header().Set("Content-Type", "application/json")
			} else {
				w.Header().Set("Content-Type", "text/plain; charset=utf-8") // as the aggregator does
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(answer))
		}))
		r, err := NewMetrics(&rest.Config{Host: server.URL, QPS: -1}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = r.Read(t.Context()); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "metrics.k8s.io/v1beta1") {
			t.Errorf("%v does not say %q", err, want)
		}
		server.Close()
	}
}
