package compiled

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// follows is the place of a reference to the object by whose sleep another object stops as well.
type follows struct {
	kind schema.GroupKind
	name *projection.Slot
}

func (c *compiler) follows(at *field.Path, spec *v1alpha1.Follows) {
	if spec == nil {
		return
	}
	if spec.Kind == "" {
		c.required(at.Child("kind"), "the kind's name")
	}
	p, ok := c.plain(at.Child("name"), spec.Name)
	if !ok {
		return
	}
	c.a.follows = &follows{kind: schema.GroupKind{Group: spec.Group, Kind: spec.Kind}, name: c.d.Read(p)}
	c.use(at.Child("name"), p, false, path.String)
}

// FollowedKind returns the kind that objects of the adapter's kind follow, or an empty kind.
func (a *Spec) FollowedKind() schema.GroupKind {
	if a.follows == nil {
		return schema.GroupKind{}
	}
	return a.follows.kind
}

// Follows returns the followed object in the namespace of an object. It returns false without a name.
func (a *Spec) Follows(obj *workload.Object) (workload.Ref, bool) {
	if a.follows == nil {
		return workload.Ref{}, false
	}
	name, err := path.NewValue(a.follows.name.Of(obj).Raw, a.follows.name.Pointer).Text()
	if err != nil || name == "" {
		return workload.Ref{}, false
	}
	return workload.Ref{GroupKind: a.follows.kind, Namespace: obj.Namespace, Name: name}, true
}
