package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Right is one right that the engine uses on behalf of a policy. The engine executes the policy with its own rights, so
// the author of the policy must hold the right too.
type Right struct {
	// Verb is the verb of RBAC: patch, create or delete.
	Verb string
	// Kind is the kind of the objects; zero: every kind that the policy selects and whose adapter has a needed
	// capability.
	Kind schema.GroupKind
	// Autoscalers is true if the right is on the autoscalers of the selected objects. They may be of every autoscaler kind.
	Autoscalers bool
	// Owners is true if the right is on the objects of GitOps tools that apply the selected objects. They may be of every
	// such kind, and for a policy without a namespace in every namespace.
	Owners bool
	// Field is the field of the spec that needs the right, for messages.
	Field string
	// Asks is the part of the spec that needs the right. An edit that does not change this part needs no check.
	Asks any
	// Past is true if the right is also needed on the objects selected before the edit.
	Past bool
	// Annotations are keys that the policy sets on the objects; AnnotationsField is their field in the spec.
	Annotations      []string
	AnnotationsField string
}

// OnSelected reports whether the right is on the objects selected by the policy.
func (r Right) OnSelected() bool { return r.Kind == schema.GroupKind{} && !r.Owners }

// kubernetesDomains are the domains of annotations and labels that make Kubernetes itself act.
var kubernetesDomains = []string{"kubernetes.io", "k8s.io"}

// IsOwnKey reports whether an annotation or label belongs to Flyball.
func IsOwnKey(key string) bool { return domainOf(key, v1alpha1.GroupVersion.Group) != "" }

// KubernetesDomain returns the domain of Kubernetes in the key of an annotation or label; empty: none.
func KubernetesDomain(key string) string { return domainOf(key, kubernetesDomains...) }

// domainOf returns the first of the domains that contains the key; empty: none.
func domainOf(key string, domains ...string) string {
	prefix, _, prefixed := strings.Cut(strings.ToLower(key), "/")
	for _, domain := range domains {
		if prefixed && (prefix == domain || strings.HasSuffix(prefix, "."+domain)) {
			return domain
		}
	}
	return ""
}
