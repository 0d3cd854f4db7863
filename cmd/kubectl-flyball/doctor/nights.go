package doctor

import (
	"slices"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// nights follows a simulation of Flyball's writes to applied objects and to the objects of the GitOps tools. It collects
// the conflicts.
type nights struct {
	sandbox *world.Memory
	tools   GitOps
	objects map[workload.Ref]applied
	// targets has the applied objects of each object of a GitOps tool.
	targets map[workload.Ref][]workload.Ref
	// appliers has the objects of GitOps tools as of the present instant. The sandbox may be ahead by a write.
	appliers map[workload.Ref]written
	// changed has the applied fields of each target that have Flyball's values at the present instant.
	changed map[workload.Ref][]string
	// holders has for each target the policy that would hold an object of a GitOps tool of which the world lacks the namespace.
	holders map[workload.Ref]workload.Policy
	// due are the targets whose conflicts may have changed at the present instant.
	due map[workload.Ref]bool
	// conflicts are grouped by the object of the GitOps tool and the reason of uncertainty.
	conflicts map[conflictKey]*conflict
}

// written is an object as of its last write. isChanged is true if a policy has changed it.
type written struct {
	root      rawjson.Value
	isChanged bool
}

type conflictKey struct {
	by     workload.Ref
	unsure string
}

func newNights(memory *world.Memory, tools GitOps) *nights {
	n := &nights{tools: tools, objects: map[workload.Ref]applied{}, targets: map[workload.Ref][]workload.Ref{},
		appliers: map[workload.Ref]written{}, changed: map[workload.Ref][]string{}, due: map[workload.Ref]bool{},
		holders:   map[workload.Ref]workload.Policy{},
		conflicts: map[conflictKey]*conflict{}}
	var refs []workload.Ref
	memory.EachObject(func(ref workload.Ref) {
		root := rawjson.ParseBytes(memory.Raw(ref))
		by, ok := applierOf(root)
		if !ok {
			return
		}
		if found, known := tools.find(by); known {
			by = found.ref(by)
		}
		n.objects[ref] = applied{ref, root, by}
		n.targets[by] = append(n.targets[by], ref)
		refs = append(refs, ref)
	})
	for by := range n.targets {
		if _, isTarget := n.objects[by]; !isTarget {
			refs = append(refs, by)
		}
	}
	n.sandbox = memory.Sandbox(refs)
	for by := range n.targets {
		if n.sandbox.Raw(by) != nil {
			n.keepApplier(by)
		}
	}
	return n
}

// wrote notes a write of the simulation, when the sandbox has it and nothing later.
func (n *nights) wrote(write *decide.Write) {
	ref := write.Target
	if targets := n.targets[ref]; len(targets) > 0 {
		n.keepApplier(ref)
		for _, target := range targets {
			n.due[target] = true
		}
	}
	o, ok := n.objects[ref]
	if !ok {
		return
	}
	n.due[ref] = true
	if len(n.sandbox.Object(ref).Ledger) == 0 {
		delete(n.changed, ref)
		return
	}
	n.findHolder(o)
	by, _ := n.tools.find(o.by)
	for _, e := range write.Edits {
		if (o.declares(e.Pointer) || by.mayDeclare(o, e.Pointer)) && !slices.Contains(n.changed[ref], e.Pointer) {
			n.changed[ref] = append(n.changed[ref], e.Pointer)
		}
	}
}

func (n *nights) keepApplier(by workload.Ref) {
	n.appliers[by] = written{rawjson.ParseBytes(n.sandbox.Raw(by)), len(n.sandbox.Object(by).Ledger) > 0}
}

// judgeDue notes the conflicts at the end of an instant.
func (n *nights) judgeDue() {
	for ref := range n.due {
		if len(n.changed[ref]) > 0 {
			n.judge(n.objects[ref], n.changed[ref])
		}
	}
	clear(n.due)
}

func (n *nights) judge(o applied, pointers []string) {
	found, known := n.tools.find(o.by)
	unsure := ""
	if known {
		last, isWritten := n.appliers[o.by]
		if isWritten {
			found.root = last.root
		}
		var leaves bool
		if leaves, unsure = found.leaves(o, pointers); leaves || last.isChanged && found.isManual() {
			return
		}
		if unsure == "" && slices.ContainsFunc(pointers, func(p string) bool { return found.mayDeclare(o, p) && !o.declares(p) }) {
			unsure = "it corrects drift, and after a night no record says whether its chart has the fields"
		}
		if holder, isHeld := n.holders[o.ref]; unsure == "" && isHeld && !isWritten {
			unsure = holder.String() + " has holdOwner, and only -A reads the namespace " + o.by.Namespace
		}
	}
	key := conflictKey{o.by, unsure}
	if n.conflicts[key] == nil {
		n.conflicts[key] = &conflict{by: o.by, unknown: !known, unsure: unsure}
	}
	n.conflicts[key].add(o.ref, pointers)
}

// findHolder notes the policy that has changed a target and may hold the object of its GitOps tool.
func (n *nights) findHolder(o applied) {
	k := n.sandbox.Kind(o.by.GroupKind)
	for _, e := range n.sandbox.Object(o.ref).Ledger {
		id := workload.ParsePolicy(e.By)
		if p := n.sandbox.Policy(id); k != nil && k.Adapter.CanOwn() && p != nil && p.MayHold(o.by.Namespace) {
			n.holders[o.ref] = id
		}
	}
}
