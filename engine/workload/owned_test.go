package workload_test

import (
	"testing"

	"flyball.dev/flyball/engine/workload"
)

// TestOwnedFieldsAreFoundInFieldsV1: fields inside lists and inside whole values count as owned with their list or value.
func TestOwnedFieldsAreFoundInFieldsV1(t *testing.T) {
	const fields = `{"f:metadata":{"f:annotations":{".":{},"f:example.com/a~b":{}}},` +
		`"f:spec":{"f:replicas":{},"f:template":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}},` +
		`"f:finalizers":{"v:\"x\"":{}},"f:args":{"i:0":{}}},"f:paused":{".":{}}}}`
	for _, tc := range []struct {
		pointer string
		want    bool
	}{
		{"/spec/replicas", true},
		{"/spec/minReadySeconds", false},
		{"/status/replicas", false},
		{"/spec", true},
		{"/metadata/annotations/example.com~1a~0b", true},
		{"/metadata/annotations/example.com~1other", false},
		{"/spec/template/containers/0/image", true},
		{"/spec/template/containers/1/resources", true}, // an index does not tell which element it is
		{"/spec/template/finalizers/0", true},
		{"/spec/template/args/3", true},
		{"/spec/template/volumes/0", false},
		{"/spec/replicas/anything", true}, // the set has replicas as a whole
		{"/spec/paused/anything", false},  // the set has the object paused, but none of its fields
	} {
		if got := workload.OwnsField([]byte(fields), tc.pointer); got != tc.want {
			t.Errorf("%s: owned is %t", tc.pointer, got)
		}
	}
}
