package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	watchapi "k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"
)

// padded is an object with a large part that the projection drops.
func padded(i, padding int) string {
	return fmt.Sprintf(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"namespace":"shop-%d","name":"web-%06d",`+
		`"uid":"0f4a3c1e-6b7d-4c57-9d4e-%012d","resourceVersion":"%d","labels":{"app":"web","tier":"front"}},"spec":{"padding":%q}}`,
		i%50, i, i, i+1, strings.Repeat("x", padding))
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// read puts n objects into an informer's store, from a list or from a stream.
func read(t testing.TB, f *informer, n, padding int, streamed bool) {
	objects := make([]string, n)
	for i := range objects {
		objects[i] = padded(i, padding)
	}
	if !streamed {
		out := &list{}
		raw := `{"metadata":{"resourceVersion":"1"},"items":[` + strings.Join(objects, ",") + `]}`
		if _, _, err := (document{MetadataProjector()}).Decode([]byte(raw), nil, out); err != nil {
			t.Fatal(err)
		}
		items := make([]any, len(out.Items))
		for i, o := range out.Items {
			items[i] = o
		}
		if err := (reflectorStore{f}).Replace(items, "1"); err != nil {
			t.Fatal(err)
		}
		return
	}
	var stream bytes.Buffer
	for _, o := range objects {
		fmt.Fprintln(&stream, frameOf("ADDED", o))
	}
	negotiated := &negotiator{MetadataProjector(), func(watchapi.EventType, kruntime.Object) {}}
	decoder, serializer, framer, err := negotiated.StreamDecoder("application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	d := restwatch.NewDecoder(streaming.NewDecoder(framer.NewFrameReader(io.NopCloser(&stream)), serializer), decoder)
	for range n {
		_, o, err := d.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if err := (reflectorStore{f}).Add(o); err != nil {
			t.Fatal(err)
		}
	}
}

// The store keeps only the projection of an object: it references neither the answer nor the stream's buffers.
func TestBuffersAreNotPinned(t *testing.T) {
	const n, padding, budget = 2000, 8 << 10, 1 << 10
	for name, streamed := range map[string]bool{"list": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			f := newInformer(key{widgets, "v1"}, &client{}, testLogger())
			before := heap()
			read(t, f, n, padding, streamed)
			each := (int64(heap()) - int64(before)) / n
			t.Logf("%d bytes an object", each)
			if each > budget {
				t.Errorf("an object costs %d bytes, want at most %d", each, budget)
			}
			if objects := f.store.len(); objects != n {
				t.Fatalf("%d objects, want %d", objects, n)
			}
			runtime.KeepAlive(f)
		})
	}
}

// BenchmarkDecode compares one event with the minimum work of a typed informer: decoding the metadata.
func BenchmarkDecode(b *testing.B) {
	raw := []byte(padded(1, 3<<10))
	b.Run("projected", func(b *testing.B) {
		p := MetadataProjector()
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			if o := project(p, raw); o == nil {
				b.Fatal("nothing")
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			var o metav1.PartialObjectMetadata
			if err := json.Unmarshal(raw, &o); err != nil {
				b.Fatal(err)
			}
		}
	})
}
