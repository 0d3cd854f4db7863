package projection

import (
	"fmt"
	"testing"

	"flyball.dev/flyball/engine/workload"
)

// TestAContainerInAListElement checks that a container counts as Flyball's alone only if managed fields say that Flyball
// wrote everything in it.
func TestAContainerInAListElement(t *testing.T) {
	const doc = `{"metadata":{"managedFields":[{"manager":"flyball","apiVersion":"v1","fieldsV1":{
		"f:metadata":{"f:annotations":{"f:flyball.dev/ledger":{}}},
		"f:spec":{"f:sets":{"k:{\"name\":\"a\"}":{"f:part":{"f:count":{}%s}}}}}}]},
		"spec":{"sets":[{"name":"a","part":{"count":0,"more":1}}]}}`
	for _, c := range []struct {
		name, owned string
		alone       uint8
	}{
		{"of a part nobody is known to be the owner", ``, 0},
		{"everything is Flyball's", `,"f:more":{}`, 4},
	} {
		w, ok := readWriters(fmt.Appendf(nil, doc, c.owned))
		if !ok {
			t.Fatal("managed fields say nothing")
		}
		e := workload.Entry{Pointer: "/spec/sets/0/part/count", Set: "0", Made: 4}
		if got := w.author(&e, "/spec/sets/0/part/count"); got.Alone != c.alone || !got.Known || got.Other {
			t.Errorf("%s: %+v, want alone from %d tokens on", c.name, got, c.alone)
		}
	}
}
