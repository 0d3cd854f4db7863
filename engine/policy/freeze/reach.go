package freeze

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/target"
	"flyball.dev/flyball/engine/workload"
)

// selection is the target section of a namespaced or cluster-scoped policy.
type selection struct {
	spec v1alpha1.ClusterTargetSelector
	// namespace is the namespace of a namespaced policy.
	namespace string
}

func inNamespace(spec v1alpha1.TargetSelector, namespace string) selection {
	s := inCluster(v1alpha1.ClusterTargetSelector{TargetSelector: spec})
	s.namespace = namespace
	return s
}

// inCluster removes the default of exclude: otherwise a label on an object could free it of every freeze.
func inCluster(spec v1alpha1.ClusterTargetSelector) selection {
	if spec.Exclude == nil {
		spec.Exclude = &metav1.LabelSelector{}
	}
	return selection{spec: spec}
}

// byObjectMetadata reports whether the selection depends on an object's labels or annotations.
func (s selection) byObjectMetadata() bool {
	given := func(l *metav1.LabelSelector) bool { return l != nil && len(l.MatchLabels)+len(l.MatchExpressions) > 0 }
	return given(s.spec.Selector) || given(s.spec.Exclude) || len(s.spec.Annotations) > 0
}

func (s selection) compile(scope target.Scope, at *field.Path) (reach, field.ErrorList) {
	var r reach
	var errs field.ErrorList
	if s.namespace != "" {
		r.selector, errs = target.Namespaced(s.spec.TargetSelector, s.namespace, scope, at)
	} else {
		r.selector, errs = target.Cluster(s.spec, scope, at)
	}
	r.kinds, r.spaces, r.objects = s.indexKeys()
	return r, errs
}

// reach is the selector of a policy with its index keys.
type reach struct {
	selector *target.Selector
	kinds    []schema.GroupKind
	spaces   []indexKey
	objects  []indexKey
}

// indexKey is a required property of an object or its namespace: a name (empty key), a label, or none.
type indexKey struct{ key, value string }

var (
	// anything is the key of policies without such a requirement.
	anything = indexKey{}
	// outside is the namespace key of cluster-scoped objects. No name contains a slash.
	outside = indexKey{value: "/"}
	// anyKind is the kind key of policies that list no kinds.
	anyKind = schema.GroupKind{}
)

// maxKeys bounds the index keys of one policy. Beyond it the policy gets fewer, broader keys: by namespace only, or by
// kind only. The selection is the same.
const maxKeys = 4096

// indexKeys returns the index keys: every object that the policy can select has one key of each list.
func (s selection) indexKeys() (kinds []schema.GroupKind, spaces, objects []indexKey) {
	kinds = v1alpha1.GroupKinds(s.spec.Kinds)
	listed := len(kinds) > 0
	if !listed {
		kinds = []schema.GroupKind{anyKind}
	}
	objects = labelKeys(s.spec.Selector)
	if len(s.spec.Names) > 0 {
		objects = nameKeys(s.spec.Names)
	}
	spaces = []indexKey{{value: s.namespace}}
	if s.namespace == "" {
		spaces = nameKeys(s.spec.Namespaces)
		if s.spec.NamespaceSelector != nil {
			spaces = append(spaces, labelKeys(s.spec.NamespaceSelector)...)
		}
		if listed {
			spaces = append(spaces, outside)
		}
	}
	if len(kinds)*len(spaces)*len(objects) > maxKeys {
		objects = []indexKey{anything}
	}
	if len(kinds)*len(spaces) > maxKeys {
		spaces = []indexKey{anything}
	}
	return kinds, spaces, objects
}

func nameKeys(names []string) []indexKey {
	out := make([]indexKey, len(names))
	for i, n := range names {
		out[i] = indexKey{value: n}
	}
	return out
}

// labelKeys returns the keys of the first label, in alphabetical order, that the selector restricts to some values.
func labelKeys(s *metav1.LabelSelector) []indexKey {
	if s == nil {
		return []indexKey{anything}
	}
	if wanted := workload.NewPairs(s.MatchLabels); len(wanted) > 0 {
		return []indexKey{{wanted[0].Key, wanted[0].Value}}
	}
	for _, e := range s.MatchExpressions {
		if e.Operator != metav1.LabelSelectorOpIn {
			continue
		}
		out := make([]indexKey, len(e.Values))
		for i, v := range e.Values {
			out[i] = indexKey{e.Key, v}
		}
		return out
	}
	return []indexKey{anything}
}

// subject is an object before and after a change, and its namespace.
type subject struct {
	kind schema.GroupKind
	// sides are the object before and after, in this order; only one for a creation or deletion, or if both are equal.
	sides []workload.Object
	// spaces are the namespace's possible label sets: a namespace being relabelled has two for a moment.
	spaces []workload.Pairs
}

// anySelected reports whether the policy selects the object before or after the change, under any of the namespace's label sets.
func (r *reach) anySelected(s *subject) bool {
	for i := range s.sides {
		if r.selects(s, &s.sides[i]) {
			return true
		}
	}
	return false
}

// isLeftBy reports whether the policy selects the object before the change and not after it.
func (r *reach) isLeftBy(s *subject) bool {
	return len(s.sides) == 2 && r.selects(s, &s.sides[0]) && !r.selects(s, &s.sides[1])
}

// selects reports whether the policy selects one side of the subject, under any of the namespace's label sets.
func (r *reach) selects(s *subject, side *workload.Object) bool {
	for _, labels := range s.spaces {
		if r.selector.Matches(s.kind, side, labels) {
			return true
		}
	}
	return false
}

// allSelected reports whether the policy selects the object both before and after the change, under all of the
// namespace's label sets.
func (r *reach) allSelected(s *subject) bool {
	for i := range s.sides {
		for _, labels := range s.spaces {
			if !r.selector.Matches(s.kind, &s.sides[i], labels) {
				return false
			}
		}
	}
	return true
}
