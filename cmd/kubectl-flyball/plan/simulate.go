package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// simulate adds the writes of a world to the plan. It simulates the parts of the world side by side.
func (p *Plan) simulate(ctx context.Context, memory *world.Memory, o Input) error {
	worlds := parts(memory, runtime.GOMAXPROCS(0))
	plans, errs := make([]Plan, len(worlds)), make([]error, len(worlds))
	var running sync.WaitGroup
	for i, w := range worlds {
		plans[i] = Plan{start: p.start, by: p.by, unlisted: p.unlisted}
		own := o
		if i > 0 {
			own.Progress = nil // all parts are at about the same instant
		}
		running.Go(func() { errs[i] = plans[i].run(ctx, w, own) })
	}
	running.Wait()
	for i := range plans {
		if errs[i] != nil {
			return errs[i]
		}
		p.Changes = append(p.Changes, plans[i].Changes...)
		p.Writes += plans[i].Writes
		p.all = append(p.all, plans[i].all...)
	}
	slices.SortFunc(p.all, func(a, b Timeline) int { return a.ref.Compare(b.ref) })
	for i := range p.all {
		p.Totals.Add(p.all[i].totals)
	}
	return nil
}

// run simulates one part of the world.
func (p *Plan) run(ctx context.Context, memory *world.Memory, o Input) error {
	l := newLedger(memory, o, p.by)
	for write, err := range decide.Writes(memory, p.start, o.To) {
		if errors.Is(err, decide.ErrRestless) {
			return fmt.Errorf("%w: the policies named would undo each other for ever; explain the target to see them", err)
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if o.Progress != nil {
			o.Progress(write.At)
		}
		l.scaled(write.Target, write.At)
		if !l.keeps(write.Target) {
			continue
		}
		if write.At.Before(o.From) {
			l.begin(write.Target)
			continue
		}
		l.note(write.Target, write.At)
		p.take(&write, l.accounts[write.Target].timeline.Target, false)
	}
	p.all = l.close()
	return nil
}

// parts divides a world into at most n worlds whose objects do not depend on each other. The objects of a namespace
// stay together, because an autoscaler is in the namespace of its target and a namespaced policy acts on one namespace.
// A rate limit or an order of a cluster policy lets targets of several namespaces wait for each other, and a held owner
// lives in another namespace than its targets, so a world with such a policy is not split.
func parts(memory *world.Memory, n int) []*world.Memory {
	whole := n < 2
	memory.Policies(func(q *world.Policy) bool {
		whole = whole || q.ID.Namespace == "" && (q.HoldsOwners || q.Order != nil || q.Up.Batch+q.Down.Batch > 0)
		return !whole
	})
	spaces := map[string][]workload.Ref{}
	memory.EachObject(func(ref workload.Ref) {
		spaces[ref.Namespace] = append(spaces[ref.Namespace], ref)
		if ref.Namespace == "" { // objects of all namespaces may follow this one
			memory.EachFollower(ref, func(workload.Ref) { whole = true })
		}
	})
	if n = min(n, len(spaces)); whole || n < 2 {
		return []*world.Memory{memory}
	}
	refs := make([][]workload.Ref, n)
	all := slices.Collect(maps.Values(spaces))
	slices.SortFunc(all, func(a, b []workload.Ref) int { return cmp.Compare(len(b), len(a)) })
	for i, space := range all { // dealt by size, so the parts have about the same size
		refs[i%n] = append(refs[i%n], space...)
	}
	worlds := make([]*world.Memory, n)
	for i := range refs {
		worlds[i] = memory.Sandbox(refs[i])
	}
	return worlds
}
