package measure

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// TestNonsenseOfOnePod: an invalid amount of a pod affects only that pod. The usage of the others is known.
func TestNonsenseOfOnePod(t *testing.T) {
	other := types.NamespacedName{Namespace: "shop", Name: "web-2"}
	want := Pod{Stamp: "later", Containers: []Container{{Name: "app", MilliCPU: 5, MemoryBytes: 1 << 20}}}
	for _, nonsense := range []string{
		`"usage":{"cpu":"many","memory":"1Mi"}`, `"usage":{"cpu":{},"memory":[]}`, `"usage":{"cpu":"` + strings.Repeat("9", 1000) + `"}`,
		`"usage":{"cpu":"1e999999999"}`,
		`"usage":[]`, `"usage":7`, `"usage":null`,
	} {
		got, err := parse([]byte(`{"items":[{"metadata":{"name":"web-1","namespace":"shop"},"timestamp":"now","containers":[{"name":"app",` +
			nonsense + `}]},
		  {"metadata":{"name":"web-2","namespace":"shop"},"timestamp":"later","containers":[{"name":"app","usage":{"cpu":"5m","memory":"1Mi"}}]}]}`))
		if diff := cmp.Diff(want, got[other]); diff != "" || err != nil {
			t.Errorf("%.60s: %v: %s", nonsense, err, diff)
		}
		for _, c := range got[types.NamespacedName{Namespace: "shop", Name: "web-1"}].Containers {
			if c.MilliCPU >= 0 {
				t.Errorf("%.60s: it uses %+v", nonsense, c)
			}
		}
	}
}
