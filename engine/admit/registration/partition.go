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
	// maxNamed is in how many namespaces changes are sent apart. API servers compare the names with that of each object written. Beyond it
	// what is denied in some namespaces is sent from all.
	maxNamed = 1000
	// maxParts is how many webhooks there are for that. Beyond it they are one, which sends from all of these namespaces what is denied in
	// any of them.
	maxParts = 16
)

// part is what is sent from some namespaces, besides what is sent from all.
type part struct {
	namespaces []string
	rules      []admissionregistrationv1.RuleWithOperations
}

// partition sorts what is denied by where it is sent from. No change is sent twice.
func partition(kinds []FreezeRule) (everywhere []admissionregistrationv1.RuleWithOperations, parts []part) {
	all, byNamespace := sending{}, map[string]sending{}
	for _, k := range kinds {
		for _, ns := range k.Namespaces {
			if byNamespace[ns] == nil {
				byNamespace[ns] = sending{}
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
	union, alike := sending{}, map[string]*part{}
	for _, ns := range slices.Sorted(maps.Keys(byNamespace)) {
		rest := byNamespace[ns].without(all)
		if len(rest) == 0 {
			continue
		}
		union.join(rest)
		key := rest.key()
		if alike[key] == nil {
			alike[key] = &part{rules: rest.rules()}
		}
		alike[key].namespaces = append(alike[key].namespaces, ns)
	}
	for _, p := range alike {
		parts = append(parts, *p)
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.namespaces[0], b.namespaces[0]) })
	if len(parts) > maxParts {
		one := part{rules: union.rules()}
		for _, p := range parts {
			one.namespaces = append(one.namespaces, p.namespaces...)
		}
		parts = []part{one}
	}
	return all.rules(), parts
}

// sending is what is sent: the operations of each resource.
type sending map[sentResource]operations

// sentResource is a resource or subresource as a rule names it.
type sentResource struct {
	group, resource string
	// rank orders the subresources of a resource, and versions are theirs, with blanks between.
	rank                  int
	subresource, versions string
}

// operations is a set of them, in the order of EveryWrite.
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

// operationsOf are the operations that can be one of some actions. An update can be any of them: an edit can have a controller create
// objects or delete them.
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

// add adds what is sent of one kind: the operations that can be a denied action, the updates of its subresources that are judged,
// /scale where Scale is denied, and /status, which can carry metadata.
func (s sending) add(k FreezeRule) {
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
			case Resize: // at its own place, wherever it is listed
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

// join adds what others send.
func (s sending) join(others sending) {
	for r, o := range others {
		s[r] |= o
	}
}

// without leaves out what others send.
func (s sending) without(others sending) sending {
	rest := sending{}
	for r, o := range s {
		if o &^= others[r]; o != 0 {
			rest[r] = o
		}
	}
	return rest
}

// resources are the keys in order.
func (s sending) resources() []sentResource {
	return slices.SortedFunc(maps.Keys(s), func(a, b sentResource) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource), cmp.Compare(a.rank, b.rank), cmp.Compare(a.versions, b.versions), cmp.Compare(a.subresource, b.subresource))
	})
}

// key is equal for what is equal.
func (s sending) key() (key string) {
	for _, r := range s.resources() {
		key += fmt.Sprintln(r, s[r])
	}
	return key
}

// rules writes it as rules, those that differ in nothing but their resources as one.
func (s sending) rules() (list []admissionregistrationv1.RuleWithOperations) {
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
