package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Right is one right that the engine uses because a policy asks for it. The engine does with its own rights what the policy says, so
// who writes the policy must hold them too.
type Right struct {
	// Verb is that of RBAC: patch, create or delete.
	Verb string
	// Kind is that of the objects; zero: every kind that the policy selects and whose adapter can do what it needs.
	Kind schema.GroupKind
	// Governors is true where the objects are the autoscalers of what the policy selects: every kind whose objects own the replicas of
	// others.
	Governors bool
	// Field is where the spec asks for it, for messages.
	Field string
	// Asks is the part of the spec that asks for it. An edit that leaves it as it is asks for nothing new.
	Asks any
	// Past is true where the right is one on what the object selected before the edit, too.
	Past bool
	// Annotations are keys that the policy sets on the objects; AnnotationsField is where the spec has them.
	Annotations      []string
	AnnotationsField string
}

// OnSelected says whether the right is one on the objects that the policy selects.
func (r Right) OnSelected() bool { return r.Kind == schema.GroupKind{} }

// kubernetesDomains are those whose annotations and labels make Kubernetes itself act.
var kubernetesDomains = []string{"kubernetes.io", "k8s.io"}

// IsOwnKey says whether an annotation or label is one of Flyball's own.
func IsOwnKey(key string) bool { return domainOf(key, v1alpha1.GroupVersion.Group) != "" }

// KubernetesDomain names the domain of Kubernetes that the key of an annotation or label is under; empty: none.
func KubernetesDomain(key string) string { return domainOf(key, kubernetesDomains...) }

// domainOf names the first of the domains that a key is under; empty: none.
func domainOf(key string, domains ...string) string {
	prefix, _, prefixed := strings.Cut(strings.ToLower(key), "/")
	for _, domain := range domains {
		if prefixed && (prefix == domain || strings.HasSuffix(prefix, "."+domain)) {
			return domain
		}
	}
	return ""
}
