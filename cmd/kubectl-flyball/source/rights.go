package source

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
)

var (
	adaptersResource  = v1alpha1.GroupVersion.WithResource("adapters").GroupResource()
	calendarsResource = v1alpha1.GroupVersion.WithResource("calendars").GroupResource()
)

// ClusterReader is the name of the chart's ClusterRole that grants the rights to read Flyball's cluster-scoped kinds.
const ClusterReader = "flyball-cluster-view"

// Right is a right that a user needs, or lacks.
type Right struct {
	Verb     string
	Resource schema.GroupResource
	// Namespace is the namespace of the right. If it is empty, the right is for the whole cluster.
	Namespace string
}

// String returns the right in words.
func (r Right) String() string { return r.Verb + " " + r.Resource.String() + " " + r.where() }

func (r Right) where() string {
	if r.Namespace != "" {
		return "in namespace " + r.Namespace
	}
	return "in all namespaces"
}

// needs reports whether the query cannot be answered at all without a right. The rights to read adapters, calendars and
// Cluster policies are not needed, because fewer people may read these than the namespaces that they govern. The rights
// to read some kinds of objects are not needed either.
func (q Query) needs(r Right) bool {
	if r.Resource.Group != v1alpha1.GroupVersion.Group {
		return r.Resource == namespaces.GroupResource() || q.Namespace == ""
	}
	return !isClusterScoped(r.Resource)
}

// isClusterScoped reports whether one of Flyball's resources is cluster-scoped.
func isClusterScoped(resource schema.GroupResource) bool {
	return resource == adaptersResource || resource == calendarsResource ||
		slices.ContainsFunc(kinds.All(), func(k policy.Row) bool { return k.ClusterScoped && k.Resource == resource.Resource })
}

// MissingRights are the rights that a user lacks. As an error, they mean that no correct answer is possible.
type MissingRights []Right

// lists reports whether the right to list a resource is among the missing rights.
func (m MissingRights) lists(resource schema.GroupResource) bool {
	return slices.ContainsFunc(m, func(r Right) bool { return r.Verb == "list" && r.Resource == resource })
}

// HidesAdapters reports whether adapters may not be read.
func (m MissingRights) HidesAdapters() bool { return m.lists(adaptersResource) }

// HidesPolicy reports whether policies of a kind may not be read.
func (m MissingRights) HidesPolicy(kind policy.Row) bool {
	return m.lists(v1alpha1.GroupVersion.WithResource(kind.Resource).GroupResource())
}

// Note returns one line about the effect of the missing rights. If no right is missing, it returns "".
func (m MissingRights) Note() string {
	if len(m) == 0 {
		return ""
	}
	var places, parts []string
	named := map[string][]string{}
	role := ""
	for _, r := range m {
		where := r.where()
		if !slices.Contains(places, where) {
			places = append(places, where)
		}
		named[where] = append(named[where], r.Resource.String())
		if isClusterScoped(r.Resource) && r.Resource.Group == v1alpha1.GroupVersion.Group {
			role = fmt.Sprintf("; the ClusterRole %s gives the rights on flyball.dev", ClusterReader)
		}
	}
	for _, where := range places {
		parts = append(parts, strings.Join(named[where], ", ")+" "+where)
	}
	if m.lists(adaptersResource) {
		role += "; the adapters that come with Flyball are used in place of the cluster's"
	}
	return "left out, because you may not read: " + strings.Join(parts, "; ") + role
}

// Add adds a right, unless it is present already.
func (m *MissingRights) Add(r Right) {
	if !slices.Contains(*m, r) {
		*m = append(*m, r)
	}
}

// Error lists the missing rights, and the rules that would grant them.
func (m MissingRights) Error() string {
	var b strings.Builder
	b.WriteString("rights are missing, and without them the answer could be wrong:")
	for _, r := range m {
		b.WriteString("\n  " + r.String())
	}
	b.WriteString("\nAsk for these rules:")
	type key struct{ group, verb string }
	resources := map[key][]string{}
	var order []key
	for _, r := range m {
		k := key{r.Resource.Group, r.Verb}
		if resources[k] == nil {
			order = append(order, k)
		}
		if !slices.Contains(resources[k], r.Resource.Resource) {
			resources[k] = append(resources[k], r.Resource.Resource)
		}
	}
	for _, k := range order {
		fmt.Fprintf(&b, "\n- {apiGroups: [%q], resources: [%s], verbs: [%s]}", k.group, strings.Join(resources[k], ", "), k.verb)
	}
	return b.String()
}
