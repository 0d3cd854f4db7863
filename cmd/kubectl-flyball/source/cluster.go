package source

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
)

// Cluster reads the world from an API server.
type Cluster struct {
	Client dynamic.Interface
	Mapper meta.RESTMapper
	// Metadata reads the metadata of objects, for a Query with Judged.
	Metadata metadata.Interface
	// FlyballNamespace is the namespace that Flyball runs in.
	FlyballNamespace string
	// Now is the clock, for worlds of a dry run.
	Now func() time.Time
	// Progress is called with the name of each resource before its objects are read. It may be nil.
	Progress func(what string)
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// reading is the state of one Load.
type reading struct {
	Cluster
	query   Query
	world   *World
	missing MissingRights
}

// Load reads the objects of a query. If the policies and the namespace of the query may not be read, it returns all
// missing rights as a MissingRights. Other missing rights are in World.Unseen.
func (c Cluster) Load(ctx context.Context, q Query) (*World, error) {
	r := &reading{Cluster: c, query: q, world: &World{Within: q.Namespace}}
	for _, step := range []func(context.Context) error{r.adapters, r.policies, r.namespaces, r.objects} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(r.missing, q.needs) {
		return nil, r.missing
	}
	r.world.Unseen = r.missing
	r.world.setScope(c.FlyballNamespace)
	r.world.findOwn(c.FlyballNamespace)
	return r.world, nil
}

// Objects returns all objects of some kinds, whether or not the kinds have an adapter. It reads one namespace, or all
// namespaces if namespace is empty. A kind that the API server does not know has no objects. Missing rights are
// returned as a MissingRights.
func (c Cluster) Objects(ctx context.Context, kinds []schema.GroupKind, namespace string) ([][]byte, error) {
	r := &reading{Cluster: c, world: &World{}}
	var all [][]byte
	for _, gk := range kinds {
		mapping, err := c.Mapper.RESTMapping(gk)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find how %s is served: %w", gk, err)
		}
		where := namespace
		if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
			where = ""
		}
		var list [][]byte
		if gk == namespaceKind && namespace != "" { // a user of one namespace may read only this Namespace
			list, err = r.namespace(ctx, namespace)
		} else {
			list, err = r.list(ctx, mapping.Resource, where)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if len(r.missing) > 0 {
		return nil, r.missing
	}
	return all, nil
}

// list returns all objects of a resource as JSON. If the right to list is missing, it returns no objects and records
// the missing right.
func (r *reading) list(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([][]byte, error) {
	if r.Progress != nil {
		r.Progress(resource.GroupResource().String())
	}
	var client dynamic.ResourceInterface = r.Client.Resource(resource)
	if namespace != "" {
		client = r.Client.Resource(resource).Namespace(namespace)
	}
	pages := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, opts)
	})
	var all [][]byte
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		raw, err := obj.(*unstructured.Unstructured).MarshalJSON()
		all = append(all, raw)
		return err
	})
	switch {
	case apierrors.IsForbidden(err):
		r.missing.Add(Right{"list", resource.GroupResource(), namespace})
		return nil, nil
	case apierrors.IsNotFound(err) && resource.Group == v1alpha1.GroupVersion.Group:
		return nil, fmt.Errorf("list %s: this cluster does not have Flyball's CRDs; install Flyball, or work from files with --offline DIR",
			resource.GroupResource())
	case err != nil:
		return nil, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	}
	return all, nil
}

// typed returns all objects of one of Flyball's resources, decoded.
func typed[T any](ctx context.Context, r *reading, resource, namespace string) ([]*T, error) {
	list, err := r.list(ctx, v1alpha1.GroupVersion.WithResource(resource), namespace)
	if err != nil {
		return nil, err
	}
	all := make([]*T, len(list))
	for i, raw := range list {
		if err := json.Unmarshal(raw, &all[i]); err != nil {
			return nil, fmt.Errorf("read the %s %s: %w", strings.TrimSuffix(resource, "s"), rawjson.GetBytes(raw, "metadata.name").Str, err)
		}
	}
	return all, nil
}

func (r *reading) adapters(ctx context.Context) error {
	all, err := typed[v1alpha1.Adapter](ctx, r, "adapters", "")
	if err != nil {
		return err
	}
	r.world.usable(all)
	if r.missing.lists(adaptersResource) {
		if err := r.world.libraryWith(nil); err != nil {
			return err
		}
	}
	for _, a := range slices.Concat(r.world.Adapters, r.query.Also) {
		if gk := (schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}); r.world.hasKind(gk) {
			continue
		}
		if err := r.serve(a); err != nil {
			return err
		}
	}
	return nil
}

// serve adds the kind of an adapter to the world, as the API server serves it.
func (r *reading) serve(a *v1alpha1.Adapter) error {
	gk := schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}
	mapping, err := r.Mapper.RESTMapping(gk, a.Spec.Target.Versions...)
	if meta.IsNoMatchError(err) {
		r.world.Absent = append(r.world.Absent, gk)
		return nil
	}
	if err != nil {
		return fmt.Errorf("find how %s is served: %w", gk, err)
	}
	k := kindOf(a, mapping.Scope.Name() == meta.RESTScopeNameNamespace, mapping.Resource.Version)
	if mapping.Resource.Resource != k.Resource.Resource {
		k.Names = append(k.Names, mapping.Resource.Resource)
	}
	r.world.Kinds = append(r.world.Kinds, k)
	return nil
}

// isTuner reports whether a policy tunes targets.
func isTuner(kind policy.Row, obj policy.Object) bool {
	p, _ := kind.Compile(obj, policy.Context{})
	return p.Tuner != nil
}

// policies reads the policies and the calendars. It also reads the recommendations if a policy tunes targets.
func (r *reading) policies(ctx context.Context) (err error) {
	tunes := false
	for _, kind := range kinds.All() {
		namespace := r.query.Namespace
		if kind.ClusterScoped {
			namespace = ""
		}
		list, err := r.list(ctx, v1alpha1.GroupVersion.WithResource(kind.Resource), namespace)
		if err != nil {
			return err
		}
		for _, raw := range list {
			p := kind.New()
			if err := json.Unmarshal(raw, p); err != nil {
				return fmt.Errorf("read %s %s: %w", kind.Name, rawjson.GetBytes(raw, "metadata.name").Str, err)
			}
			p.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind.Name))
			r.world.Policies = append(r.world.Policies, p)
			if kind.ActsOnTargets() && meta.IsStatusConditionTrue(kind.Status(p).Conditions, v1alpha1.ConditionDryRun) {
				r.world.DryRunAt, r.world.Settles = r.Now(), true
			}
			tunes = tunes || isTuner(kind, p)
		}
	}
	if tunes {
		if r.world.Recommendations, err = typed[v1alpha1.Recommendation](ctx, r, "recommendations", r.query.Namespace); err != nil {
			return err
		}
	}
	r.world.Calendars, err = typed[v1alpha1.Calendar](ctx, r, "calendars", "")
	r.texts(ctx)
	return err
}

// namespaces reads the namespaces of the objects, because their labels and annotations matter for decisions.
func (r *reading) namespaces(ctx context.Context) error {
	var list [][]byte
	var err error
	if r.query.Namespace == "" {
		list, err = r.list(ctx, namespaces, "")
	} else {
		list, err = r.namespace(ctx, r.query.Namespace)
	}
	if err != nil {
		return err
	}
	for _, raw := range list {
		ns, err := projectNamespace(raw)
		if err != nil {
			return err
		}
		r.world.Namespaces = append(r.world.Namespaces, ns)
	}
	return nil
}

// namespace returns one namespace. It returns none if the query supplies this namespace itself, or if the right to read
// it is missing.
func (r *reading) namespace(ctx context.Context, name string) ([][]byte, error) {
	ns, err := r.Client.Resource(namespaces).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		r.missing.Add(Right{"get", namespaces.GroupResource(), name})
		return nil, nil
	case apierrors.IsNotFound(err) && r.world.bring(r.query.Namespaces, name):
		r.world.Note("there is no namespace %s yet: it is taken to be as its manifest has it", name)
		return nil, nil
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no namespace %s", name)
	case err != nil:
		return nil, fmt.Errorf("read the namespace %s: %w", name, err)
	}
	raw, err := ns.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("read the namespace %s: %w", name, err)
	}
	return [][]byte{raw}, nil
}

// projectNamespace returns the parts of a namespace that matter for decisions.
func projectNamespace(raw []byte) (*workload.Object, error) {
	ns, err := workload.NewMetadata(workload.NewInterner()).Project(raw)
	if err != nil {
		return nil, fmt.Errorf("read a namespace: %w", err)
	}
	return ns, nil
}

func (r *reading) objects(ctx context.Context) error {
	if r.query.PoliciesOnly && r.query.Judged {
		return r.judged(ctx)
	}
	for _, k := range r.world.Kinds {
		if !r.query.wants(k.GroupKind) {
			continue
		}
		namespace := r.query.Namespace
		if !k.Namespaced {
			followed := func(other AdaptedKind) bool { return slices.Contains(r.world.Followed(other.GroupKind), k.GroupKind) }
			if namespace != "" && r.query.Kinds == nil && !slices.ContainsFunc(r.world.Kinds, followed) {
				continue // the query asks for one namespace: of cluster-scoped objects only those matter that others follow
			}
			namespace = ""
		}
		list, err := r.list(ctx, k.Resource, namespace)
		if err != nil {
			return err
		}
		r.world.Objects = append(r.world.Objects, list...)
	}
	return nil
}
