package registration

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
	// maxParts is the maximum number of webhooks for namespaces. Beyond it a single webhook sends all denied changes
	// from all these namespaces.
	maxParts = 16
)

// namespaceGroup has the rules for some namespaces, in addition to the rules for all.
type namespaceGroup struct {
	namespaces []string
	rules      []admissionregistrationv1.RuleWithOperations
}

// partition groups denied changes by namespaces. No change is sent twice.
func partition(kinds []FreezeRule) (everywhere []admissionregistrationv1.RuleWithOperations, parts []namespaceGroup) {
	all, byNamespace := ruleSet{}, map[string]ruleSet{}
	for _, k := range kinds {
		for _, ns := range k.Namespaces {
			if byNamespace[ns] == nil {
				byNamespace[ns] = ruleSet{}
			}
		}
	}
	for _, k := range kinds {
		if len(k.Namespaces) == 0 || len(byNamespace) > maxNamed {
			all.add(k)
			continue
		}
		for _, ns := range k.Namespaces {
			byNamespace[ns].add(k)
		}
	}
	union, alike := ruleSet{}, map[string]*namespaceGroup{}
	for _, ns := range slices.Sorted(maps.Keys(byNamespace)) {
		rest := byNamespace[ns].without(all)
		if len(rest) == 0 {
			continue
		}
		union.join(rest)
		key := rest.key()
		if alike[key] == nil {
			alike[key] = &namespaceGroup{rules: rest.rules()}
		}
		alike[key].namespaces = append(alike[key].namespaces, ns)
	}
	for _, p := range alike {
		parts = append(parts, *p)
	}
	slices.SortFunc(parts, func(a, b namespaceGroup) int { return cmp.Compare(a.namespaces[0], b.namespaces[0]) })
	if len(parts) > maxParts {
		one := namespaceGroup{rules: union.rules()}
		for _, p := range parts {
			one.namespaces = append(one.namespaces, p.namespaces...)
		}
		parts = []namespaceGroup{one}
	}
	return all.rules(), parts
}

// ruleSet is a set of sent requests: the operations per resource.
type ruleSet map[sentResource]operations

// sentResource is a resource or subresource in a rule.
type sentResource struct {
	group, resource string
	// rank is the position among the subresources of a resource. versions are the versions, separated by blanks.
	rank                  int
	subresource, versions string
}

// operations is a set of operations, in the order of EveryWrite.
type operations uint8

const (
	creates operations = 1 << iota
	updates
	deletes
)

func (o operations) list() (list []admissionregistrationv1.OperationType) {
	for i, name := range EveryWrite {
		if o&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// operationsOf returns the operations that can be one of some actions. An update can be any of them, since an edit can
// make a controller create or delete objects.
func operationsOf(actions workload.Change) (all operations) {
	if actions.Has(workload.ChangeCreate) {
		all |= creates
	}
	if actions != 0 {
		all |= updates
	}
	if actions.Has(workload.ChangeDelete) {
		all |= deletes
	}
	return all
}

// add adds the requests to send for a kind: the operations that can be a denied action, the updates of judged
// subresources, /scale if Scale is denied, and /status for changes of metadata.
func (s ruleSet) add(k FreezeRule) {
	versions := strings.Join(k.Versions, " ")
	put := func(rank int, subresource string, o operations) {
		if o != 0 {
			s[sentResource{k.Group, k.Resource, rank, subresource, versions}] |= o
		}
	}
	if k.Governs {
		put(0, "", creates|updates|deletes)
	} else {
		put(0, "", operationsOf(k.Actions))
	}
	if k.Resize {
		put(1, "/"+Resize, updates)
	}
	if k.Actions != 0 {
		for i, name := range k.Subresources {
			switch name {
			case status:
			case Resize: // its rank is always 1, so the rules are equal for every position in the list
				put(1, "/"+name, updates)
			default:
				put(i+1, "/"+name, updates)
			}
		}
	}
	if k.Actions.Has(workload.ChangeScale) {
		put(len(k.Subresources)+1, "/scale", updates)
	}
	if k.Actions != 0 {
		put(len(k.Subresources)+2, "/"+status, updates)
	}
}

// join adds the requests of a second set.
func (s ruleSet) join(others ruleSet) {
	for r, o := range others {
		s[r] |= o
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

// resources returns the keys in order.
func (s ruleSet) resources() []sentResource {
	return slices.SortedFunc(maps.Keys(s), func(a, b sentResource) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource), cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.versions, b.versions), cmp.Compare(a.subresource, b.subresource))
	})
}

// key returns a text that is equal for equal sets.
func (s ruleSet) key() (key string) {
	for _, r := range s.resources() {
		key += fmt.Sprintln(r, s[r])
	}
	return key
}

// rules returns the set as rules. Resources with the same operations and versions share a rule.
func (s ruleSet) rules() (list []admissionregistrationv1.RuleWithOperations) {
	for _, r := range s.resources() {
		versions, wanted, name := strings.Fields(r.versions), s[r].list(), r.resource+r.subresource
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
