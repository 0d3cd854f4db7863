package usage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// TestParse reads an answer of the API in the units that it uses: n, u, m and none for cores, Ki for bytes.
func TestParse(t *testing.T) {
	got, err := parse([]byte(`{"kind":"PodMetricsList","items":[
		{"metadata":{"name":"web-1","namespace":"shop"},"timestamp":"2037-01-05T12:00:00Z","window":"15s","containers":[
			{"name":"app","usage":{"cpu":"123500u","memory":"102400Ki"}},{"name":"proxy","usage":{"cpu":"1500u","memory":"1Mi"}}]},
		{"metadata":{"name":"web-2","namespace":"shop"},"timestamp":"2037-01-05T12:00:01Z","containers":[]}]}`))
	want := map[types.NamespacedName]Pod{
		{Namespace: "shop", Name: "web-1"}: {Stamp: "2037-01-05T12:00:00Z", Containers: []Container{{"app", 123.5, 100 << 20}, {"proxy", 1.5, 1 << 20}}},
		{Namespace: "shop", Name: "web-2"}: {Stamp: "2037-01-05T12:00:01Z", Containers: []Container{}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	// What a server leaves out or gets wrong is not known, and not zero.
	got, err = parse([]byte(`{"items":[{"metadata":{"name":"web-1","namespace":"shop"},"containers":[{"name":"app","usage":{"cpu":"-5m"}},{"name":"proxy"},{"name":"idle","usage":{"cpu":"0","memory":"0"}}]}]}`))
	want = map[types.NamespacedName]Pod{{Namespace: "shop", Name: "web-1"}: {Containers: []Container{{"app", -1, -1}, {"proxy", -1, -1}, {"idle", 0, 0}}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	for _, bad := range []string{"", "[]", `{"items":[{"containers":[{"usage":{"cpu":"many"}}]}]}`} {
		if _, err := parse([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
