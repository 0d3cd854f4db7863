package compiled

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// governs is the place of a reference to a different object.
type governs struct {
	apiVersion, kind, name *projection.Slot
	assumed                *v1alpha1.KindRef
}

func (c *compiler) governs(at *field.Path, spec v1alpha1.AdapterSpec) {
	if spec.Governs == "" {
		if spec.GovernsKind != nil {
			c.required(at.Child("governs"), "governsKind needs it")
		}
		return
	}
	p, ok := c.plain(at.Child("governs"), spec.Governs)
	if !ok {
		return
	}
	if spec.GovernsKind != nil && spec.GovernsKind.Kind == "" {
		c.required(at.Child("governsKind", "kind"), "the kind's name")
	}
	c.a.governs = &governs{
		apiVersion: c.d.Read(p.Field("apiVersion")), kind: c.d.Read(p.Field("kind")), name: c.d.Read(p.Field("name")),
		assumed: spec.GovernsKind,
	}
	c.use(at.Child("governs"), p, false, path.Object)
	c.use(at.Child("governs"), p.Field("name"), false, path.String)
	if spec.GovernsKind == nil {
		c.use(at.Child("governs"), p.Field("kind"), false, path.String)
	}
}

func (c *compiler) ignoreControllers(at *field.Path, kinds []v1alpha1.KindRef) {
	for i, k := range kinds {
		if k.Kind == "" {
			c.required(at.Index(i).Child("kind"), "the kind's name")
		}
		c.a.ignored = append(c.a.ignored, k.GroupKind())
	}
}

// Governs returns the object whose replicas this object owns. A reference without a name, or without a kind if the
// adapter has no default kind, governs nothing.
func (a *Spec) Governs(obj *workload.Object) (workload.Ref, bool) {
	if a.governs == nil {
		return workload.Ref{}, false
	}
	read := func(s *projection.Slot) string {
		text, err := path.NewValue(s.Of(obj).Raw, s.Pointer).Text()
		if err != nil {
			return ""
		}
		return text
	}
	ref := workload.Ref{Namespace: obj.Namespace, Name: read(a.governs.name)}
	ref.Kind = read(a.governs.kind)
	version, assumed := read(a.governs.apiVersion), a.governs.assumed
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		return workload.Ref{}, false
	}
	ref.Group = gv.Group
	if assumed != nil && version == "" {
		ref.Group = assumed.Group
	}
	if assumed != nil && ref.Kind == "" {
		ref.Kind = assumed.Kind
	}
	return ref, ref.Name != "" && ref.Kind != ""
}

// Refers reports whether the manifest of an object of the kind, as JSON, names an object that it governs.
func (a *Spec) Refers(manifest []byte) bool {
	obj, err := a.Project(manifest)
	if err != nil {
		return false
	}
	ref, ok := a.Governs(obj)
	return ok && strings.TrimSpace(ref.Name) != ""
}

// Rescaled returns the objects whose size can be different after a change of an autoscaler: its targets before and after
// the change, each once. It returns none if the kind governs nothing, or if nothing changes. If before is empty, the
// change is a creation; if after is empty, it is a deletion. The objects may not exist. It returns an error if one of
// the texts is not an object.
func (a *Spec) Rescaled(before, after []byte) ([]workload.Ref, error) {
	if a.governs == nil || a.Classify(before, after) == 0 {
		return nil, nil
	}
	var all []workload.Ref
	for _, manifest := range [][]byte{before, after} {
		if len(manifest) == 0 {
			continue
		}
		obj, err := a.Project(manifest)
		if err != nil {
			return nil, fmt.Errorf("read the objects that a %s governs: %w", a.gk.Kind, err)
		}
		if ref, ok := a.Governs(obj); ok && !slices.Contains(all, ref) {
			all = append(all, ref)
		}
	}
	return all, nil
}
