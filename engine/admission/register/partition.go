package register

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"flyball.dev/flyball/engine/workload"
)

const (
	// maxNamed is the maximum number of namespaces listed in webhooks, because API servers compare every written object
	// with the list. Beyond it, changes denied in some namespaces are sent from everywhere.
	maxNamed = 1000
	// maxGroups is the maximum number of webhooks for namespaces. Beyond it a single webhook sends all denied changes
	// from all these namespaces.
	maxGroups = 16
)

// namespaceGroup has the rules for some namespaces, in addition to the rules for all.
type namespaceGroup struct {
	namespaces []string
	rules      []admissionregistrationv1.RuleWithOperations
}

// partition groups denied changes by namespaces. No change is sent twice.
func partition(kinds []FreezeRule) (everywhere []admissionregistrationv1.RuleWithOperations, groups []namespaceGroup) {
	all, union, byNamespace := ruleSet{}, ruleSet{}, map[string]ruleSet{}
	for _, k := range kinds {
		if len(k.Namespaces) == 0 {
			all.add(k)
		}
		for _, ns := range k.Namespaces {
			if byNamespace[ns] == nil {
				byNamespace[ns] = ruleSet{}
			}
			byNamespace[ns].add(k)
			union.add(k)
		}
	}
	if len(byNamespace) > maxNamed {
		for r, operations := range union {
			all[r] |= operations
		}
		return all.rules(), nil
	}
	alike, named := map[string]int{}, []string{}
	for _, ns := range slices.Sorted(maps.Keys(byNamespace)) {
		rest := byNamespace[ns].without(all)
		if len(rest) == 0 {
			continue
		}
		named = append(named, ns)
		key := fmt.Sprint(rest) // equal for equal sets, because fmt sorts keys
		i, found := alike[key]
		if !found {
			i, alike[key] = len(groups), len(groups)
			groups = append(groups, namespaceGroup{rules: rest.rules()})
		}
		groups[i].namespaces = append(groups[i].namespaces, ns)
	}
	if len(groups) > maxGroups {
		groups = []namespaceGroup{{named, union.without(all).rules()}}
	}
	return all.rules(), groups
}

// ruleSet is a set of sent requests: the operations per resource.
type ruleSet map[sentResource]operations

// sentResource is a resource in a rule, or a subresource of it. versions are separated by blanks.
type sentResource struct{ group, resource, subresource, versions string }

// operations is a set of operations, with a bit for each of everyWrite.
type operations uint8

const (
	create operations = 1 << iota
	update
	remove
)

// operationsOf returns the operations that can be one of the denied actions on a kind. An update can be any of them,
// since an edit can make a controller create or delete objects.
func operationsOf(k FreezeRule) (all operations) {
	if k.Governs || k.Actions.Has(workload.ChangeCreate) {
		all |= create
	}
	if k.Governs || k.Actions != 0 {
		all |= update
	}
	if k.Governs || k.Actions.Has(workload.ChangeDelete) {
		all |= remove
	}
	return all
}

// add adds the requests to send for a kind: the operations that can be a denied action, the updates of judged
// subresources, /scale if Scale is denied, and /status for changes of metadata.
func (s ruleSet) add(k FreezeRule) {
	put := func(subresource string, o operations) {
		if o != 0 {
			s[sentResource{k.Group, k.Resource, subresource, strings.Join(k.Versions, " ")}] |= o
		}
	}
	put("", operationsOf(k))
	if k.Resize {
		put("/"+Resize, update)
	}
	if k.Actions.Has(workload.ChangeScale) {
		put("/scale", update)
	}
	if k.Actions != 0 {
		for _, name := range append(slices.Clone(k.Subresources), status) {
			put("/"+name, update)
		}
	}
}

// without returns the set without the requests of a second set.
func (s ruleSet) without(others ruleSet) ruleSet {
	rest := ruleSet{}
	for r, o := range s {
		if o &^= others[r]; o != 0 {
			rest[r] = o
		}
	}
	return rest
}

// rules returns the set as rules. Resources with the same operations and versions share a rule.
func (s ruleSet) rules() (list []admissionregistrationv1.RuleWithOperations) {
	resources := slices.SortedFunc(maps.Keys(s), func(a, b sentResource) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource), cmp.Compare(a.subresource, b.subresource),
			cmp.Compare(a.versions, b.versions))
	})
	for _, r := range resources {
		var wanted []admissionregistrationv1.OperationType
		for i, name := range everyWrite {
			if s[r]&(1<<i) != 0 {
				wanted = append(wanted, name)
			}
		}
		versions, name := strings.Fields(r.versions), r.resource+r.subresource
		same := slices.IndexFunc(list, func(o admissionregistrationv1.RuleWithOperations) bool {
			return o.APIGroups[0] == r.group && slices.Equal(o.APIVersions, versions) && slices.Equal(o.Operations, wanted)
		})
		if same >= 0 {
			list[same].Resources = append(list[same].Resources, name)
			continue
		}
		list = append(list, ruleOf(wanted, r.group, versions, name))
	}
	return list
}
