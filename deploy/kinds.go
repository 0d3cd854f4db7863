package deploy

import (
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/override"
)

// kindsFile is the helper file of the chart that lists the kinds of policies.
const kindsFile = "deploy/helm/flyball/templates/_kinds.tpl"

// kindLists are the lists of resources that the chart's templates use. They are made from the table of policy kinds.
var kindLists = []struct {
	name, comment string
	has           func(policy.Row) bool
}{
	{"policies", "All kinds of policies.", func(policy.Row) bool { return true }},
	{"policies.acting", "Kinds that act on targets: Flyball keeps a finalizer on them.", policy.Row.ActsOnTargets},
	{"policies.cluster", "Cluster-scoped kinds.", func(k policy.Row) bool { return k.ClusterScoped }},
	{"policies.passive", "Kinds that act on no target.", func(k policy.Row) bool { return !k.ActsOnTargets() }},
	{"policies.guarded", "Kinds whose deletion is judged: they restrict changes of workloads, and can be in force.", guarded},
	{"policies.edit", "Namespaced kinds that the role edit may write.",
		func(k policy.Row) bool { return !k.ClusterScoped && !k.Restricts }},
	{"policies.admin", "Namespaced kinds that only the role admin may write.",
		func(k policy.Row) bool { return !k.ClusterScoped && k.Restricts }},
	{"policies.expiring", "Kinds that the manager deletes some time after their end.", expires},
	{"policies.orders", "Namespaced kinds by which chats and pipelines keep targets awake.",
		func(k policy.Row) bool { return !k.ClusterScoped && expires(k) }},
}

func expires(k policy.Row) bool { return k.Name == override.Kind || k.Name == override.ClusterKind }

func guarded(k policy.Row) bool { return k.Restricts && k.ActsOnTargets() }

// kindsTemplate returns the text of kindsFile.
func kindsTemplate() []byte {
	text := []byte("{{/* The resources of Flyball's policies, as in RBAC rules. Generated from the table of policy kinds. */}}\n")
	for _, list := range kindLists {
		var resources []string
		for _, k := range kinds.All() {
			if list.has(k) {
				resources = append(resources, k.Resource)
			}
		}
		slices.Sort(resources)
		text = fmt.Appendf(text, "\n{{/* %s */}}\n{{- define \"flyball.%s\" -}}\n%s\n{{- end -}}\n", list.comment, list.name,
			strings.Join(resources, ", "))
	}
	return text
}
