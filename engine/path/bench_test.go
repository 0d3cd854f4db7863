package path

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"flyball.dev/flyball/engine/path/rawjson"
)

// deployment returns a Deployment as an API server sends it, managed fields included.
func deployment(tb testing.TB) []byte {
	tb.Helper()
	text, err := os.ReadFile("testdata/deployment.json")
	if err != nil {
		tb.Fatal(err)
	}
	var doc bytes.Buffer
	if err := json.Compact(&doc, text); err != nil {
		tb.Fatal(err)
	}
	return doc.Bytes()
}

// deploymentPaths are the paths read by the engine from a Deployment on every watch event.
var deploymentPaths = []string{
	".metadata.name", ".metadata.namespace", ".metadata.uid", ".metadata.resourceVersion", ".metadata.generation",
	".metadata.labels", `.metadata.annotations.flyball\.dev/ledger`, ".spec.replicas", ".spec.paused", ".spec.selector",
	".spec.template", ".status.observedGeneration", ".status.availableReplicas",
}

func TestExtractDeployment(t *testing.T) {
	got := map[string]string{}
	err := NewSet(parseAll(deploymentPaths...)...).Extract(deployment(t), func(i int, m Match) {
		got[deploymentPaths[i]] = m.Value().String()
	})
	if err != nil || len(got) != len(deploymentPaths) {
		t.Fatalf("%d values, %v", len(got), err)
	}
	for _, text := range deploymentPaths {
		want := rawjson.GetBytes(deployment(t), text[1:]).Raw
		if want == "" {
			want = "<absent>"
		}
		if got[text] != want {
			t.Errorf("%s: got %s, want %s", text, got[text], want)
		}
	}
}

func TestExtractDoesNotAllocate(t *testing.T) {
	doc, set, size := deployment(t), NewSet(parseAll(deploymentPaths...)...), 0
	allocs := testing.AllocsPerRun(100, func() {
		err := set.Extract(doc, func(_ int, m Match) { size += len(m.Raw) + len(m.Pointer()) })
		if err != nil {
			t.Fatal(err)
		}
	})
	// None, except for the pool of walks, which the garbage collector empties and the race detector randomly bypasses.
	if allocs >= float64(len(deploymentPaths)) {
		t.Errorf("%v allocations to read %d paths", allocs, len(deploymentPaths))
	}
}

func BenchmarkExtract(b *testing.B) {
	doc, set, size := deployment(b), NewSet(parseAll(deploymentPaths...)...), 0
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if err := set.Extract(doc, func(_ int, m Match) { size += len(m.Raw) }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExtractWildcards(b *testing.B) {
	doc, size := deployment(b), 0
	set := NewSet(parseAll(".spec.template.spec.containers[*].env[*].name", ".spec.template.spec.containers[*].image",
		`.status.conditions[?(@.type=="Available")].status`)...)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if err := set.Extract(doc, func(_ int, m Match) { size += len(m.Raw) + m.Element() }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSingleValues(b *testing.B) {
	doc := deployment(b)
	queries := make([]string, len(deploymentPaths))
	for i, text := range deploymentPaths {
		queries[i] = text[1:]
	}
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		found := false
		for _, query := range queries {
			found = rawjson.GetBytes(doc, query).Exists() || found
		}
		if !found {
			b.Fatal("no value was found")
		}
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	doc := deployment(b)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		var object map[string]any
		if err := json.Unmarshal(doc, &object); err != nil {
			b.Fatal(err)
		}
	}
}
