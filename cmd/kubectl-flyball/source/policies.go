package source

import (
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
)

// PolicyKind returns the policy kind with the given name. For the kind Schedule, the name may be Schedule, schedules,
// fsch or schedules.flyball.dev.
func PolicyKind(name string) (policy.Row, bool) {
	name = strings.TrimSuffix(strings.ToLower(name), ".flyball.dev")
	for _, k := range kinds.All() {
		if strings.ToLower(k.Name) == name || k.Resource == name || k.Short == name {
			return k, true
		}
	}
	return policy.Row{}, false
}

// PolicyNamed parses KIND/NAME as a policy of the namespace or a cluster-scoped policy. It does not check whether the
// policy exists. The result ok is false if KIND is not a kind of policies.
func PolicyNamed(text, namespace string) (id workload.Policy, kind policy.Row, ok bool) {
	kindName, name, _ := strings.Cut(text, "/")
	kind, ok = PolicyKind(kindName)
	if !ok || name == "" {
		return workload.Policy{}, kind, false
	}
	id = workload.Policy{Kind: kind.Name, Namespace: namespace, Name: name}
	if kind.ClusterScoped {
		id.Namespace = ""
	}
	return id, kind, true
}

// FindPolicy parses KIND/NAME and returns the policy of the namespace or the cluster-scoped policy. A policy that does
// not exist is an error.
func (w *World) FindPolicy(text, namespace string) (workload.Policy, error) {
	id, kind, ok := PolicyNamed(text, namespace)
	if !ok {
		return workload.Policy{}, fmt.Errorf("%q is no policy: give KIND/NAME, such as schedule/nights%s", text,
			workload.Meant(text, PolicyNames(w, namespace)))
	}
	if slices.ContainsFunc(w.Policies, func(p policy.Object) bool { return IDOf(p) == id }) {
		return id, nil
	}
	for _, r := range w.Unseen {
		if r.Resource.Resource == kind.Resource {
			return workload.Policy{}, MissingRights{r}
		}
	}
	return workload.Policy{}, fmt.Errorf("there is no %s%s", id, workload.Meant(text, PolicyNames(w, namespace)))
}

// PolicyNames returns the policies of a namespace and the cluster-scoped policies, as KIND/NAME, in order.
func PolicyNames(w *World, namespace string) (names []string) {
	for _, p := range w.Policies {
		if id := IDOf(p); id.Namespace == "" || id.Namespace == namespace {
			names = append(names, strings.ToLower(id.Kind)+"/"+id.Name)
		}
	}
	slices.Sort(names)
	return names
}
