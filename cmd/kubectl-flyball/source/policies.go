package source

import (
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/spelling"
	"flyball.dev/flyball/engine/workload"
)

// PolicyKind returns the policy kind with a given name: Schedule, schedules or schedules.flyball.dev.
func PolicyKind(name string) (policy.Kind, bool) {
	name = strings.TrimSuffix(strings.ToLower(name), ".flyball.dev")
	for _, k := range kinds.All() {
		if strings.ToLower(k.Name) == name || k.Resource == name {
			return k, true
		}
	}
	return policy.Kind{}, false
}

// FindPolicy parses KIND/NAME and returns the policy of the namespace or the cluster. An unknown policy is an error.
func (w *World) FindPolicy(text, namespace string) (workload.Policy, error) {
	name, policyName, ok := strings.Cut(text, "/")
	kind, known := PolicyKind(name)
	if !ok || !known || policyName == "" {
		return workload.Policy{}, fmt.Errorf("%q is no policy: give KIND/NAME, such as schedule/nights%s", text, spelling.Meant(text, PolicyNames(w, namespace)))
	}
	id := workload.Policy{Kind: kind.Name, Namespace: namespace, Name: policyName}
	if kind.ClusterScoped {
		id.Namespace = ""
	}
	if slices.ContainsFunc(w.Policies, func(p policy.Object) bool { return IDOf(p) == id }) {
		return id, nil
	}
	for _, r := range w.Unseen {
		if r.Resource.Resource == kind.Resource {
			return workload.Policy{}, MissingRights{r}
		}
	}
	return workload.Policy{}, fmt.Errorf("there is no %s%s", id, spelling.Meant(text, PolicyNames(w, namespace)))
}

// PolicyNames returns the policies of a namespace and of the cluster, as KIND/NAME.
func PolicyNames(w *World, namespace string) (names []string) {
	for _, p := range w.Policies {
		if id := IDOf(p); id.Namespace == "" || id.Namespace == namespace {
			names = append(names, strings.ToLower(id.Kind)+"/"+id.Name)
		}
	}
	return names
}
