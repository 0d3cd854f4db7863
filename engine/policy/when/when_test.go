package when_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/when"
)

// TestWindowsRefusesRepeatedNames names the second of two windows of one name; windows without a name may be many.
func TestWindowsRefusesRepeatedNames(t *testing.T) {
	window := func(name string) v1alpha1.Window { return v1alpha1.Window{Name: name, From: "08:00", To: "09:00"} }
	list := []v1alpha1.Window{window("a"), window(""), window("b"), window(""), window("a")}
	got, errs := when.Windows(list, time.UTC, field.NewPath("awake"))
	want := field.ErrorList{field.Duplicate(field.NewPath("awake").Index(4).Child("name"), "a")}
	if diff := cmp.Diff(want.ToAggregate().Error(), errs.ToAggregate().Error()); diff != "" || len(got) != len(list) {
		t.Errorf("%d windows, errors (-want +got):\n%s", len(got), diff)
	}
}
