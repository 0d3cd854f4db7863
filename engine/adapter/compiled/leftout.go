package compiled

import (
	"fmt"
	"slices"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Served returns the spec of an adapter without the optional items in status.leftOut.
func Served(a *v1alpha1.Adapter) v1alpha1.AdapterSpec { return Without(a.Spec, a.Status.LeftOut) }

// Without returns a spec without the named optional items, such as spec.suspend[0]. Other names count for nothing.
func Without(from v1alpha1.AdapterSpec, items []string) v1alpha1.AdapterSpec {
	if len(items) == 0 {
		return from
	}
	from.Scale = without("scale", from.Scale, items, func(s v1alpha1.ScaleComponent) bool { return s.Optional })
	from.Suspend = without("suspend", from.Suspend, items, func(v v1alpha1.Variant) bool { return v.Optional })
	from.Hold = without("hold", from.Hold, items, func(v v1alpha1.Variant) bool { return v.Optional })
	from.Unable = without("unable", from.Unable, items, func(u v1alpha1.Unable) bool { return u.Optional })
	return from
}

// without returns the items of a list that are needed, or are not named.
func without[T any](list string, from []T, items []string, optional func(T) bool) (kept []T) {
	for i, item := range from {
		if !optional(item) || !slices.Contains(items, fmt.Sprintf("spec.%s[%d]", list, i)) {
			kept = append(kept, item)
		}
	}
	return kept
}
