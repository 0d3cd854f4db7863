package source

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/world"
)

// judged reads the metadata of the objects whose changes are judged by freezes. It records kinds that may not be listed
// in World.Unlisted.
func (r *reading) judged(ctx context.Context) error {
	for _, k := range r.world.Kinds {
		if !slices.ContainsFunc(r.world.Policies, func(p policy.Object) bool { return judges(p, k.GroupKind) }) {
			continue
		}
		if err := r.metadata(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// judges reports whether a policy is a freeze that judges changes of objects of the given kind.
func judges(obj policy.Object, gk schema.GroupKind) bool {
	kind, found := kinds.Find(obj.GetObjectKind().GroupVersionKind().Kind)
	if !found {
		return false
	}
	p, _ := kind.Compile(obj, policy.Context{}) // a policy that cannot be read counts as judging every kind
	if !p.Denies() {
		return false
	}
	judged := p.Judge.JudgedBy().Kinds()
	return len(judged) == 0 || slices.Contains(judged, gk)
}

// metadata reads the metadata of the objects of a kind.
func (r *reading) metadata(ctx context.Context, k AdaptedKind) error {
	if r.Progress != nil {
		r.Progress(k.Resource.GroupResource().String())
	}
	where := r.query.Namespace
	if !k.Namespaced {
		where = ""
	}
	pages := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return r.Metadata.Resource(k.Resource).Namespace(where).List(ctx, opts)
	})
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		obj.GetObjectKind().SetGroupVersionKind(k.Resource.GroupVersion().WithKind(k.Kind))
		raw, err := json.Marshal(obj)
		r.world.Objects = append(r.world.Objects, raw)
		return err
	})
	if apierrors.IsForbidden(err) {
		r.world.Unlisted = append(r.world.Unlisted, k.GroupKind)
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", k.Resource.GroupResource(), err)
	}
	return nil
}

// CountsJudged reports whether all objects judged by a freeze were read, so that they can be counted.
func (w *World) CountsJudged(p *world.Policy) bool {
	return !slices.ContainsFunc(w.Unlisted, func(gk schema.GroupKind) bool { return judges(p.Object, gk) })
}
