package tuning

import (
	"testing"

	"flyball.dev/flyball/engine/workload"
)

// The capacity of a node is kept; unreadable values are dropped.
func TestCapacitiesOfNodes(t *testing.T) {
	for status, want := range map[string][2]string{
		`{"capacity":{"cpu":"16"},"allocatable":{"cpu":"15500m","memory":"64Gi"}}`: {"15500", "68719476736"},
		`{"allocatable":{"cpu":"none"}}`:                                           {"0", "0"},
		`{}`:                                                                       {"0", "0"},
	} {
		obj, err := (sized{}).Project([]byte(`{"metadata":{"name":"n","resourceVersion":"7"},"status":` + status + `}`))
		if err != nil || obj.Name != "n" || obj.ResourceVersion != "7" || len(obj.Fields) != 2 || obj.Fields[0].Raw != want[0] ||
			obj.Fields[1].Raw != want[1] {
			t.Errorf("%s: %+v, %v", status, obj, err)
		}
	}
	if _, err := (sized{}).Project([]byte(`{}`)); err == nil {
		t.Error("a node without a name was read")
	}
	if most, known := (&Nodes{}).Largest(); known || most != (workload.Requests{}) {
		t.Errorf("nodes that nobody watches: %+v", most)
	}
}
