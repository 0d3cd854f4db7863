package freeze

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/engine/workload"
)

// entry is an entry of an exception's spec.policies, with every policy that it can ever name. Only the text and the
// exception's own namespace decide which policies these are. So a policy created later never widens an exception.
type entry struct {
	text     string
	policies []workload.Policy
}

var (
	namespacedKinds = []string{Kind, WindowKind}
	clusterKinds    = []string{ClusterKind, ClusterWindowKind}
)

// entries compiles spec.policies of an exception. namespace is the exception's namespace; empty: the exception is a
// ClusterFreezeException.
func entries(list []string, namespace string, at *field.Path) ([]entry, field.ErrorList) {
	var out []entry
	var errs field.ErrorList
	for i, text := range list {
		policies, fault := readEntry(text, namespace)
		if fault != "" {
			errs = append(errs, field.Invalid(at.Index(i), text, fault))
			continue
		}
		out = append(out, entry{text: text, policies: policies})
	}
	return out, errs
}

// readEntry returns the policies that an entry names. The forms are Kind/namespace/name, Kind/name and name. fault is the
// error; empty: the entry is valid.
func readEntry(text, namespace string) (policies []workload.Policy, fault string) {
	parts := strings.Split(text, "/")
	name := parts[len(parts)-1]
	if slices.Contains(parts, "") {
		return nil, "give Kind/namespace/name, Kind/name or name"
	}
	if len(parts) == 1 {
		return []workload.Policy{
			{Kind: ownKinds(namespace)[0], Namespace: namespace, Name: name},
			{Kind: ownKinds(namespace)[1], Namespace: namespace, Name: name},
		}, ""
	}
	kind := parts[0]
	switch {
	case slices.Contains(clusterKinds, kind):
		if namespace != "" {
			return nil, "an exception of a namespace never lifts a cluster policy"
		}
		if len(parts) != 2 {
			return nil, kind + " has no namespace: give " + kind + "/name"
		}
		return []workload.Policy{{Kind: kind, Name: name}}, ""
	case !slices.Contains(namespacedKinds, kind):
		return nil, "the kind must be one of " + strings.Join(slices.Concat(namespacedKinds, clusterKinds), ", ")
	case len(parts) == 2 && namespace == "":
		return nil, kind + " lives in a namespace: give " + kind + "/namespace/name"
	case len(parts) == 2:
		return []workload.Policy{{Kind: kind, Namespace: namespace, Name: name}}, ""
	case len(parts) > 3:
		return nil, "give Kind/namespace/name, Kind/name or name"
	case namespace != "" && parts[1] != namespace:
		return nil, "an exception of a namespace lifts policies of its own namespace only"
	default:
		return []workload.Policy{{Kind: kind, Namespace: parts[1], Name: name}}, ""
	}
}

func ownKinds(namespace string) []string {
	if namespace == "" {
		return clusterKinds
	}
	return namespacedKinds
}

// Policies returns every policy named by the exception, existing or not, sorted by name. An empty result means that the
// exception lifts every policy that it can lift.
func (e *Exception) Policies() []workload.Policy {
	var out []workload.Policy
	for _, entry := range e.entries {
		out = append(out, entry.policies...)
	}
	slices.SortFunc(out, workload.Policy.Compare)
	return slices.Compact(out)
}

// Missing returns the entries of an exception's spec.policies that name no policy of the set, as written.
func (s *Set) Missing(e *Exception) []string {
	var out []string
	for _, entry := range e.entries {
		if !slices.ContainsFunc(entry.policies, func(p workload.Policy) bool { return s.rules[p] != nil }) {
			out = append(out, entry.text)
		}
	}
	return out
}
