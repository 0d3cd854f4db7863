package factory

import (
	"context"
	"errors"
	"slices"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
)

// Around loads the objects that are needed to decide about one target.
func (f *Factory) Around(ctx context.Context, arg string) (*source.World, source.Target, error) {
	w, targets, err := f.AroundAll(ctx, []string{arg})
	if err != nil {
		return w, source.Target{}, err
	}
	return w, targets[0], nil
}

// AroundAll loads the objects that are needed to decide about targets, and prints a note about missing rights.
func (f *Factory) AroundAll(ctx context.Context, args []string) (*source.World, []source.Target, error) {
	w, targets, err := f.readAround(ctx, args)
	if err == nil {
		f.NoteMissing(w.Unseen)
	}
	return w, targets, err
}

// readAround reads the inputs of decisions about targets: objects of the targets' kinds, of all governing kinds, and of the kinds
// governed by the targets.
func (f *Factory) readAround(ctx context.Context, args []string) (*source.World, []source.Target, error) {
	namespace := f.Namespace()
	q := source.Query{Namespace: namespace, PoliciesOnly: !f.Offline()}
	if f.Offline() {
		q.Namespace = "" // an owner and its objects have different namespaces
	}
	w, err := f.Read(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	var targets []source.Target
	kinds := w.Governing()
	for _, arg := range args {
		target, err := w.FindTarget(arg, namespace)
		if err != nil {
			return nil, nil, err
		}
		targets, kinds = append(targets, target), append(append(kinds, target.GroupKind), w.Followed(target.GroupKind)...)
	}
	if f.Offline() {
		return w, targets, nil
	}
	q.PoliciesOnly, q.Kinds = false, kinds
	if w, err = f.Read(ctx, q); err != nil {
		return nil, nil, err
	}
	for _, target := range targets {
		governed, err := w.Governed(target.Ref)
		if err != nil {
			return nil, nil, err
		}
		if governed != nil && !slices.Contains(q.Kinds, *governed) {
			q.Kinds = append(q.Kinds, *governed)
		}
	}
	if len(q.Kinds) > len(kinds) {
		if w, err = f.Read(ctx, q); err != nil {
			return nil, nil, err
		}
	}
	w, err = f.withOwners(ctx, w, q, targets)
	return w, targets, err
}

// withOwners reads the objects of a query in all namespaces if a policy holds owners, with the owners and the objects of
// owners among the targets: an owner and its objects have different namespaces. Without the rights, the world stays.
func (f *Factory) withOwners(ctx context.Context, w *source.World, q source.Query, targets []source.Target) (*source.World, error) {
	refs := make([]workload.Ref, len(targets))
	for i, target := range targets {
		refs[i] = target.Ref
	}
	kinds, err := w.Owning(refs)
	if err != nil || len(kinds) == 0 {
		return w, err
	}
	q.Namespace, q.Kinds = "", append(slices.Clone(q.Kinds), kinds...)
	all, err := f.Read(ctx, q)
	if missing := (source.MissingRights)(nil); errors.As(err, &missing) {
		w.Note("owners and their objects in other namespaces are not known, because you may not list them")
		return w, nil
	}
	return all, err
}
