package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// ownerIndex has the owners of each object (of), and the objects that each owner applies (what).
type ownerIndex struct {
	of   map[workload.Ref]map[workload.Ref]struct{}
	what map[workload.Ref][]workload.Ref
}

func newOwnerIndex() ownerIndex {
	return ownerIndex{of: map[workload.Ref]map[workload.Ref]struct{}{}, what: map[workload.Ref][]workload.Ref{}}
}

// update sets the objects that an owner applies. It returns the objects that must be decided again: those that the
// owner began or ceased to apply, or all if the owner itself is not in the same state as before.
func (x *ownerIndex) update(owner workload.Ref, now []workload.Ref, same bool) (touched []workload.Ref) {
	if len(x.what) == 0 && len(now) == 0 {
		return nil // most kinds own nothing, and each decision of a plan asks
	}
	before := x.what[owner]
	if same && slices.Equal(before, now) {
		return nil
	}
	touched = slices.Concat(before, now)
	for _, ref := range before {
		delete(x.of[ref], owner)
		if len(x.of[ref]) == 0 {
			delete(x.of, ref)
		}
	}
	delete(x.what, owner)
	if len(now) == 0 {
		return touched
	}
	x.what[owner] = now
	for _, ref := range now {
		if x.of[ref] == nil {
			x.of[ref] = map[workload.Ref]struct{}{}
		}
		x.of[ref][owner] = struct{}{}
	}
	return touched
}

// sameState reports whether two forms of an owner have the same fields and the same ledger, so that the objects that
// it applies need not be decided again.
func sameState(a, b *workload.Object) bool {
	return a != nil && b != nil && a.Deleting == b.Deleting && a.LedgerError == b.LedgerError &&
		slices.Equal(a.Fields, b.Fields) && slices.Equal(a.Ledger, b.Ledger)
}

func (l *Live) ownersOf(ref workload.Ref) []workload.Ref {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.owners.of) == 0 {
		return nil
	}
	return slices.Collect(maps.Keys(l.owners.of[ref]))
}

// owned returns the objects that an owner applies. The caller must not change the list.
func (l *Live) owned(owner workload.Ref) []workload.Ref {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.owners.what[owner]
}

// Owners implements decide.World.
func (s *Snapshot) Owners(ref workload.Ref) (all []workload.Ref, known bool) {
	known = true
	for _, k := range s.owning {
		known = known && k.Adapter.KeepsOwned()
		all = append(all, k.Live.ownersOf(ref)...)
	}
	slices.SortFunc(all, workload.Ref.Compare)
	return all, known
}

// HoldsOwners reports whether a kind of owners is in use.
func (s *Snapshot) HoldsOwners() bool { return len(s.owning) > 0 }

// Owner is an object of a GitOps tool that applies targets of a policy.
type Owner struct {
	workload.Ref
	// OutOfReach is true if the policy does not hold the owner, because it is in another namespace.
	OutOfReach bool
	// Held is true if the owner is stopped by a claim of the policy, Resumed if another writer has set it going since. Suspended is
	// true if the owner was suspended before.
	Held, Resumed, Suspended bool
	// Others are the other objects that the owner applies and that a policy could put to sleep, sorted.
	Others []workload.Ref
}

// maxOthers is the number of other objects named in the text about an owner.
const maxOthers = 3

// String returns the owner with its state, in one line.
func (o Owner) String() string { return o.Ref.String() + " " + o.State() }

// State reports whether the policy holds the owner, and names the other objects that get no changes from Git meanwhile.
func (o Owner) State() string {
	text := "is held while a target sleeps"
	switch {
	case o.OutOfReach:
		return "is in another namespace and is not held: a ClusterSchedule can hold it"
	case o.Resumed:
		return "was resumed by another writer and is not held"
	case o.Held:
		text = "is held"
	case o.Suspended:
		text = "was suspended before"
	}
	if len(o.Others) == 0 {
		return text
	}
	var names []string
	for _, other := range o.Others[:min(len(o.Others), maxOthers)] {
		names = append(names, other.String())
	}
	if more := len(o.Others) - maxOthers; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return text + "; changes in Git of " + strings.Join(names, ", ") + " wait too"
}

// OwnersOf returns the owners of the targets of a policy that holds owners, sorted.
func (s *Snapshot) OwnersOf(p *Policy) []Owner {
	if !p.HoldsOwners || p.Deleting || len(s.owning) == 0 {
		return nil
	}
	targets := map[workload.Ref]bool{}
	owners := map[workload.Ref]bool{}
	for _, k := range s.kinds {
		s.EachSelected(p, k, func(ref workload.Ref) {
			if obj := s.Object(ref); obj == nil || decide.LeavesAlone(s, &p.Policy, k.Kind, obj) {
				return
			}
			targets[ref] = true
			found, _ := s.Owners(ref)
			for _, owner := range found {
				owners[owner] = true
			}
		})
	}
	var all []Owner
	for _, ref := range slices.SortedFunc(maps.Keys(owners), workload.Ref.Compare) {
		all = append(all, s.owner(p, ref, targets))
	}
	return all
}

// These are the reasons why a policy holds no owner.
const (
	NoOwnerAdapter = "no adapter with owns is in use: enable applications.argoproj.io, kustomizations.kustomize.toolkit.fluxcd.io " +
		"or helmreleases.helm.toolkit.fluxcd.io in the chart's value adapters"
	NoOwnerRecord = "no Application, Kustomization or HelmRelease for this cluster has a target in its record"
)

func (s *Snapshot) owner(p *Policy, ref workload.Ref, targets map[workload.Ref]bool) Owner {
	o := Owner{Ref: ref, OutOfReach: !p.MayHold(ref.Namespace)}
	k, obj := s.kinds[ref.GroupKind], s.Object(ref)
	if k == nil || obj == nil {
		return o
	}
	claimed := slices.ContainsFunc(obj.Ledger, func(e workload.Entry) bool { return slices.Contains(e.Claimants(), p.ID) })
	present := *obj
	present.Ledger = nil
	now := k.Adapter.Observe(&present)
	o.Held = claimed && (now.Suspended || now.Held)
	o.Resumed = claimed && !o.Held
	o.Suspended = k.Adapter.Observe(obj).Suspended
	for _, other := range k.Live.owned(ref) {
		if !targets[other] && s.Adapts(other.GroupKind) == decide.CanSleep && s.Object(other) != nil {
			o.Others = append(o.Others, other)
		}
	}
	return o
}
