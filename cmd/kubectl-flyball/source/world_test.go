package source

import (
	"strings"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/world"
)

// TestPoliciesThatCannotBeReadAreNoted checks that a note names a freeze that cannot be read. Such a freeze refuses
// nothing, in the cluster and here. Without the note, users would believe that no freeze exists.
func TestPoliciesThatCannotBeReadAreNoted(t *testing.T) {
	freeze := &v1alpha1.ChangeFreeze{}
	freeze.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ChangeFreeze"))
	freeze.Namespace, freeze.Name, freeze.Spec.TimeZone = "shop", "sale", "Europe/Atlantis"
	w := &World{Lists: world.Lists{Policies: []policy.Object{freeze}}}
	for range 2 {
		if _, err := w.Memory(); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.Notes) != 1 || !strings.Contains(w.Notes[0],
		"ChangeFreeze/shop/sale cannot be read, so it does nothing new and refuses nothing: ") ||
		!strings.Contains(w.Notes[0], "Europe/Atlantis") {
		t.Errorf("the notes are %q", w.Notes)
	}
}
