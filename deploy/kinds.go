package deploy

import (
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/schedule"
)

// kindsFile is the helper file of the chart that lists the kinds of policies.
const kindsFile = "deploy/helm/flyball/templates/_kinds.tpl"

// kindLists are the lists of resources that the chart's templates use. They are made from the table of policy kinds.
var kindLists = []struct {
	name, comment string
	has           func(policy.Kind) bool
}{
	{"policies", "All kinds of policies.", func(policy.Kind) bool { return true }},
	{"policies.acting", "Those that act on targets: Flyball keeps a finalizer on them.", policy.Kind.ActsOnTargets},
	{"policies.cluster", "Those outside namespaces, which govern many of them.", func(k policy.Kind) bool { return k.ClusterScoped }},
	{"policies.passive", "All others.", func(k policy.Kind) bool { return !k.ActsOnTargets() }},
	{"policies.guarded", "Those whose deletion is judged: they restrict who may change workloads, and can be in force.", guarded},
	{"policies.edit", "Those in namespaces that the role edit gives the right to write.",
		func(k policy.Kind) bool { return !k.ClusterScoped && !k.Restricts }},
	{"policies.admin", "Those in namespaces that it takes the role admin to write.",
		func(k policy.Kind) bool { return !k.ClusterScoped && k.Restricts }},
	{"policies.waking", "Those with the verb wake, which lets a person keep their targets awake.", wakes},
}

func guarded(k policy.Kind) bool { return k.Restricts && k.ActsOnTargets() }

func wakes(k policy.Kind) bool { return k.Name == schedule.Kind || k.Name == schedule.ClusterKind }

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
