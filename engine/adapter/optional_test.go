package adapter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
)

// TestOptionalItemsAreLeftOutByName: an item has its number in the spec as written, and needed items stay.
func TestOptionalItemsAreLeftOutByName(t *testing.T) {
	from := specOf(t, `
target: {group: example.com, kind: Farm, versions: [v1]}
scale: [{name: a, replicas: .spec.a}, {name: b, replicas: .spec.b, optional: true}, {name: c, replicas: .spec.c, optional: true}]
suspend:
- {set: [{path: .spec.off, value: true}], optional: true}
- {set: [{path: .spec.suspend, value: true}]}
hold: [{set: [{path: .spec.paused, value: true}], optional: true}]
unable: [{when: [{path: .spec.broken, op: Exists}], because: it is broken, optional: true}]
`)
	for _, tc := range []struct {
		reason                       string
		items                        []string
		scale, suspend, hold, unable []int // the items that stay
	}{
		{"none", nil, []int{0, 1, 2}, []int{0, 1}, []int{0}, []int{0}},
		{"some", []string{"spec.scale[1]", "spec.suspend[0]"}, []int{0, 2}, []int{1}, []int{0}, []int{0}},
		{"neighbours", []string{"spec.scale[2]", "spec.scale[1]"}, []int{0}, []int{0, 1}, []int{0}, []int{0}},
		{"of each list", []string{"spec.hold[0]", "spec.unable[0]"}, []int{0, 1, 2}, []int{0, 1}, nil, nil},
		{"needed items", []string{"spec.scale[0]", "spec.suspend[1]"}, []int{0, 1, 2}, []int{0, 1}, []int{0}, []int{0}},
		{"other names", []string{"spec.scale[9]", "scale[1]", "spec.bounds", ""}, []int{0, 1, 2}, []int{0, 1}, []int{0}, []int{0}},
	} {
		want := from
		want.Scale, want.Suspend = chosen(from.Scale, tc.scale), chosen(from.Suspend, tc.suspend)
		want.Hold, want.Unable = chosen(from.Hold, tc.hold), chosen(from.Unable, tc.unable)
		if diff := cmp.Diff(want, Without(from, tc.items)); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
		served := &v1alpha1.Adapter{Spec: from, Status: v1alpha1.AdapterStatus{LeftOut: tc.items}}
		if diff := cmp.Diff(want, Served(served)); diff != "" {
			t.Errorf("%s, by the status: %s", tc.reason, diff)
		}
	}
}

func chosen[T any](list []T, indexes []int) (items []T) {
	for _, i := range indexes {
		items = append(items, list[i])
	}
	return items
}
