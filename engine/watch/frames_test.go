package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/framer"
	watchapi "k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"
)

// pieces returns a text in pieces of the given lengths, over and over.
type pieces struct {
	text    string
	lengths []int
	turn    int
}

func (p *pieces) Read(data []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(data[:min(len(data), p.lengths[p.turn%len(p.lengths)])], p.text)
	p.turn++
	p.text = p.text[n:]
	return n, nil
}

// all reads every object of a frame reader through buffers of one size, until an error.
func all(r io.Reader, size int) (objects []string, err error) {
	data := make([]byte, size)
	var object []byte
	for {
		n, err := r.Read(data)
		object = append(object, data[:n]...)
		switch {
		case err == nil:
			objects = append(objects, string(object))
			object = nil
		case !errors.Is(err, io.ErrShortBuffer):
			return objects, err
		}
	}
}

// anyValue draws a JSON value with strings full of characters special to a reader: quotes, backslashes and brackets.
func anyValue(depth int) *rapid.Generator[any] {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab\"\\{}[] \n\té世")), 0, 12, -1)
	leaves := rapid.OneOf(rapid.Map(text, func(s string) any { return s }), rapid.Map(rapid.Int(), func(n int) any { return n }),
		rapid.Just(any(nil)))
	if depth == 0 {
		return leaves
	}
	return rapid.OneOf(leaves,
		rapid.Map(rapid.SliceOfN(anyValue(depth-1), 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(text, anyValue(depth-1), 0, 4), func(m map[string]any) any { return m }))
}

func TestFramesAreTheObjectsOfTheStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []string
		var stream strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "objects") {
			text, err := json.Marshal(map[string]any{"object": anyValue(3).Draw(t, "value"), "type": "ADDED"})
			if err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "indented") {
				var indented bytes.Buffer
				if err := json.Indent(&indented, text, "", "\t"); err != nil {
					t.Fatal(err)
				}
				text = indented.Bytes()
			}
			want = append(want, string(text))
			stream.WriteString(rapid.SampledFrom([]string{"", "\n", "\r\n", " \t\n "}).Draw(t, "space"))
			stream.Write(text)
		}
		stream.WriteString(rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end"))
		source := &pieces{text: stream.String(), lengths: rapid.SliceOfN(rapid.IntRange(1, 40), 1, 5).Draw(t, "lengths")}
		got, err := all(newFrames(io.NopCloser(source)), rapid.IntRange(1, 200).Draw(t, "buffer"))
		if !errors.Is(err, io.EOF) {
			t.Fatalf("the stream ended with %v, want io.EOF", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		reference, _ := all(framer.NewJSONFramedReader(io.NopCloser(strings.NewReader(stream.String()))), 1<<16)
		if diff := cmp.Diff(reference, got); diff != "" {
			t.Fatalf("another reader finds other objects: %s", diff)
		}
	})
}

func TestTruncatedFramesReturnErrors(t *testing.T) {
	reset := errors.New("connection reset")
	for name, c := range map[string]struct {
		source io.Reader
		want   int
		err    string
	}{
		"nothing":                 {strings.NewReader(""), 0, "EOF"},
		"only space":              {strings.NewReader(" \n"), 0, "EOF"},
		"cut within an object":    {strings.NewReader(`{"a":1}{"a":`), 1, "unexpected EOF"},
		"cut within a string":     {strings.NewReader(`{"a":"}`), 0, "unexpected EOF"},
		"cut after a backslash":   {strings.NewReader(`{"a":"\`), 0, "unexpected EOF"},
		"broken between objects":  {io.MultiReader(strings.NewReader(`{"a":1}`), iotest.ErrReader(reset)), 1, "connection reset"},
		"broken within an object": {io.MultiReader(strings.NewReader(`{"a":1}{"b"`), iotest.ErrReader(reset)), 1, "connection reset"},
		"no object":               {strings.NewReader(`{"a":1} 502 Bad Gateway`), 1, `'5' where an object should begin`},
		"too large":               {io.MultiReader(strings.NewReader(`{"a":"`), endless{}), 0, "more than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFrames(io.NopCloser(c.source))
			got, err := all(f, 1024)
			if len(got) != c.want || err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%d objects and then %v, want %d and %q", len(got), err, c.want, c.err)
			}
			if _, again := f.Read(make([]byte, 8)); again == nil {
				t.Error("the next read succeeds")
			}
		})
	}
}

func TestPlainEventSplitsAFrame(t *testing.T) {
	const object = `{"metadata":{"name":"a"}}`
	for text, want := range map[string]bool{
		`{"type":"ADDED","object":` + object + `}`:               true,
		`{"type":"ADDED","object":` + object + "\n}":             true,
		`{"type":"ADDED","object":` + object + `,"more":1}`:      false,
		`{"type": "ADDED", "object": ` + object + `}`:            false,
		`{"object":` + object + `,"type":"ADDED"}`:               false,
		"{\n\t\"type\":\"ADDED\",\n\t\"object\":" + object + "}": false,
	} {
		kind, got, ok := plainEvent([]byte(text))
		if ok != want || (ok && (kind != watchapi.Added || string(got) != object)) {
			t.Errorf("%s is %s %s, %t, want %t", text, kind, got, ok, want)
		}
		f, e := &frame{}, &metav1.WatchEvent{}
		if _, _, err := f.Decode([]byte(text), nil, e); err != nil || e.Type != "ADDED" || f.kind != watchapi.Added ||
			string(e.Object.Raw) != object {
			t.Errorf("%s decodes to %s %s, error %v", text, e.Type, e.Object.Raw, err)
		}
	}
	if _, _, err := (&frame{}).Decode([]byte(`{"type":"ADDED","object":3}`), nil, &metav1.WatchEvent{}); err == nil {
		t.Error("an event whose object is a number is no error")
	}
}

// endless is a text without an end.
type endless struct{}

func (endless) Read(data []byte) (int, error) {
	for i := range data {
		data[i] = 'x'
	}
	return len(data), nil
}

// A long stream of ordinary objects needs no more room than its largest object.
func TestFramesKeepTheirBufferSmall(t *testing.T) {
	const largest = 100 << 10
	objects := []string{`{"a":"` + strings.Repeat("x", largest) + `"}`}
	for range 5000 {
		objects = append(objects, `{"b":"`+strings.Repeat("y", 4<<10)+`"}`)
	}
	f := newFrames(io.NopCloser(strings.NewReader(strings.Join(objects, "\n"))))
	got, err := all(f, 8<<10)
	if !errors.Is(err, io.EOF) || len(got) != len(objects) {
		t.Fatalf("%d objects and %v, want %d and io.EOF", len(got), err, len(objects))
	}
	if len(f.buffer) > 4*largest {
		t.Errorf("the buffer has %d bytes, the largest object %d", len(f.buffer), largest)
	}
}

func BenchmarkFrames(b *testing.B) {
	object := frameOf("ADDED", padded(1, 200)) + "\n"
	stream := strings.Repeat(strings.Replace(object, `"padding"`, `"managedFields":[`+
		strings.Repeat(`{"f:metadata":{"k:{\"name\":\"main\"}":{".":{}}}},`, 60)+`null],"padding"`, 1), 1000)
	for name, reader := range map[string]func(io.ReadCloser) io.ReadCloser{
		"frames":        func(r io.ReadCloser) io.ReadCloser { return newFrames(r) },
		"encoding-json": framer.NewJSONFramedReader,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(stream)))
			data := make([]byte, 64<<10)
			for b.Loop() {
				r := reader(io.NopCloser(strings.NewReader(stream)))
				for range 1000 {
					if _, err := r.Read(data); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
