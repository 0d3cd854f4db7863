package selector

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SurelyShare reports whether one of two selectors selects each object that the other one selects, among the objects of a kind in
// a namespace that both reach. It is false if this depends on the objects.
func SurelyShare(a, b *Selector) bool {
	return !a.nothing && !b.nothing && shareKind(a, b) && (covers(a, b) || covers(b, a))
}

// shareKind reports whether two selectors have a namespaced kind in common, or both list a cluster-scoped kind.
func shareKind(a, b *Selector) bool {
	if len(a.kinds) == 0 {
		a, b = b, a
	}
	return len(a.kinds) == 0 || slices.ContainsFunc(a.kinds, func(k schema.GroupKind) bool {
		return b.ListsKind(k) || len(b.kinds) == 0 && !a.scope.IsClusterScoped(k)
	})
}

// covers reports whether wide certainly selects every object that narrow selects: wide has no term about objects, or the same
// term as narrow.
func covers(wide, narrow *Selector) bool {
	named := wide.names.len() == 0 || len(narrow.names.globs) == 0 && len(narrow.names.exact) > 0 &&
		!slices.ContainsFunc(narrow.names.exact.UnsortedList(), func(name string) bool { return !wide.names.has(name) })
	return (named || wide.names.equals(narrow.names)) && (wide.notNames.len() == 0 || wide.notNames.equals(narrow.notNames)) &&
		(wide.labels == nil || sameLabels(wide.labels, narrow.labels)) &&
		(wide.exclude == nil || sameLabels(wide.exclude, narrow.exclude)) && len(wide.annotated)+len(wide.parts) == 0
}

func (n *names) equals(other names) bool {
	return n.exact.Equal(other.exact) && slices.Equal(n.globs, other.globs)
}

func sameLabels(a, b labels.Selector) bool { return a != nil && b != nil && a.String() == b.String() }

// IsProtected reports whether a namespace is one of Kubernetes or of Flyball itself.
func (s *Selector) IsProtected(namespace string) bool { return s.scope.Protected.Has(namespace) }
