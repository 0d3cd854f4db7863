package workload_test

import (
	"slices"
	"testing"

	"flyball.dev/flyball/engine/workload"
)

// TestActionsAreReadByTheirNames compares the actions with the names in freezes.
func TestActionsAreReadByTheirNames(t *testing.T) {
	var all workload.Change
	for name, want := range map[string]workload.Change{"Create": workload.ChangeCreate, "Delete": workload.ChangeDelete,
		"RollOut": workload.ChangeRollOut, "Scale": workload.ChangeScale, "scale": 0, "": 0, "Pause": 0} {
		got := workload.ChangeOf(name)
		if got != want {
			t.Errorf("%q is %v, want %v", name, got, want)
		}
		if names := got.Names(); want != 0 && !slices.Equal(names, []string{name}) {
			t.Errorf("the names of %q are %v", name, names)
		}
		all |= got
	}
	if names := all.Names(); !slices.Equal(names, []string{"Create", "Delete", "RollOut", "Scale"}) {
		t.Errorf("all actions are %v", names)
	}
}
