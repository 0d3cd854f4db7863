package projection

import (
	"testing"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// TestFieldsAt checks the value of a field, the depth of the existing containers around it, and whether they could hold
// it.
func TestFieldsAt(t *testing.T) {
	raw := []byte(`{"spec":{"a":{"x":1,"n":null},"t":"text","z":null,"l":[{"x":1},null]}}`)
	for pointer, want := range map[string]workload.Field{
		"/spec/a/x":   {Raw: "1", Depth: 3},
		"/spec/a/y":   {Depth: 2},
		"/spec/a/n":   {Depth: 2, IsNull: true},
		"/spec/z/x":   {Depth: 1},
		"/spec/z/x/y": {Depth: 1},
		"/none/x":     {},
		"/spec/t/x":   {Depth: Blocked},
		"/spec/l/0":   {Raw: `{"x":1}`, Depth: Blocked},
		"/spec/l/1":   {Depth: Blocked},
		"/spec/l/0/x": {Raw: "1", Depth: 4},
		"/spec/l/0/y": {Depth: 3},
	} {
		if got, err := fieldsAt(raw, []path.Pointer{path.Pointer(pointer)}); err != nil || got[0] != want {
			t.Errorf("%s is %+v, %v, want %+v", pointer, got, err, want)
		}
	}
}

// TestVeryDeepFields checks that the depth of a very deep field is not stored as the mark of a blocked field.
func TestVeryDeepFields(t *testing.T) {
	for depth, want := range map[int]uint8{3: 3, Blocked - 1: Blocked - 1, Blocked: Blocked - 1, 1000: Blocked - 1} {
		if got := Small(depth); got != want {
			t.Errorf("%d is kept as %d, want %d", depth, got, want)
		}
	}
}
