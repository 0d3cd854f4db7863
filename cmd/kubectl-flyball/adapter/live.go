package adapter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// PickDefinition returns the CustomResourceDefinition with the given name. The name may be its full name, its kind, its
// plural or its singular. If there is none, the error suggests the nearest name.
func PickDefinition(crds [][]byte, name string) ([]byte, error) {
	var names []string
	for _, raw := range crds {
		root := rawjson.ParseBytes(raw)
		own := []string{root.Get("metadata.name").Str, root.Get("spec.names.kind").Str, root.Get("spec.names.plural").Str,
			root.Get("spec.names.singular").Str}
		if slices.ContainsFunc(own, func(n string) bool { return strings.EqualFold(n, name) }) {
			return raw, nil
		}
		names = append(names, own...)
	}
	hint := cmp.Or(workload.Meant(name, names), ": kinds of Kubernetes itself have adapters in the library")
	return nil, fmt.Errorf("there is no CustomResourceDefinition of %s%s", name, hint)
}

// Object reads one object of an adapter's kind. The adapter does not have to be applied to the cluster.
func Object(ctx context.Context, cluster source.Cluster, a *v1alpha1.Adapter, namespace, name string) ([]byte, error) {
	mapping, err := cluster.Mapper.RESTMapping(schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind},
		a.Spec.Target.Versions...)
	if err != nil {
		return nil, fmt.Errorf("find how %s is served: %w", a.Spec.Target.Kind, err)
	}
	client := cluster.Client.Resource(mapping.Resource)
	if mapping.Scope.Name() != "namespace" {
		namespace = ""
	}
	obj, err := client.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", strings.ToLower(a.Spec.Target.Kind), name, err)
	}
	return obj.MarshalJSON()
}
