// Package customkind defines kinds for single tests: a CustomResourceDefinition with several places for a count, its
// objects and its adapter. Each kind has a unique API group, so that tests that install, edit and remove kinds and
// adapters do not interfere.
package customkind

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

// Kind is a kind called Press in a group of its own. Its schema has the counts .spec.replicas and .spec.pool.size, the
// free text .spec.note, the reference .spec.target with a name and a kind, and the switch .spec.suspend. Lists of
// counts are .spec.pools, an atomic list whose counts may be quantities, and .spec.keyed, a list whose elements have
// names known to the API server. The optional part .spec.power has defaults inside, and .spec.valve has a default
// itself. In .spec.motor and .spec.motors null differs from an absent value, which has a default.
type Kind struct {
	// Group is the API group.
	Group string
	// Scale adds a /scale subresource for .spec.replicas.
	Scale bool
}

// Name returns the name of the kind's adapter and CustomResourceDefinition.
func (k Kind) Name() string { return "presses." + k.Group }

// Ref returns the kind in the form for policies.
func (k Kind) Ref() v1alpha1.KindRef { return v1alpha1.KindRef{Group: k.Group, Kind: "Press"} }

// CRD returns the YAML of the CustomResourceDefinition.
func (k Kind) CRD() []byte {
	scale := ""
	if k.Scale {
		scale = "scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}"
	}
	return fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s}
spec:
  group: %s
  scope: Namespaced
  names: {kind: Press, listKind: PressList, plural: presses, singular: press}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, %s}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer}
              pool: {type: object, properties: {size: {type: integer}}}
              note: {type: string}
              target: {type: object, properties: {name: {type: string}, kind: {type: string}}}
              suspend: {type: boolean}
              pools:
                type: array
                items: {type: object, properties: {name: {type: string}, role: {type: string}, count: {x-kubernetes-int-or-string: true}}}
              keyed:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, count: {type: integer}}}
              power:
                type: object
                properties:
                  "on": {type: boolean}
                  level: {type: integer, default: 3}
                  fan: {type: object, default: {}, properties: {speed: {type: integer, default: 2}}}
                  mode: {type: string, enum: [steady, suspended]}
              valve: {type: object, default: {}, properties: {open: {type: boolean}, turns: {type: integer, default: 4}}}
              motor: &motor
                type: object
                properties:
                  name: {type: string}
                  speed: {type: integer, nullable: true, default: 2}
                  running: {type: boolean, nullable: true, default: true}
              motors: {type: array, items: *motor}
          status: {type: object, properties: {replicas: {type: integer}}}
`, k.Name(), k.Group, scale)
}

// Install creates the CustomResourceDefinition, and waits until the kind is served and its schema is published. A manager that
// sees the kind before its schema looks for the schema once more, five seconds later.
func (k Kind) Install(ctx context.Context, env *harness.Env) error {
	if err := env.Apply(ctx, k.CRD()); err != nil {
		return err
	}
	web, err := rest.HTTPClientFor(env.Config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	version := "apis/" + k.Group + "/v1"
	return harness.Poll(ctx, harness.Patience, func() error {
		for _, path := range []string{version + "/presses", "openapi/v3/" + version} {
			if err := isThere(ctx, web, env.Config.Host+"/"+path); err != nil {
				return err
			}
		}
		return nil
	})
}

func isThere(ctx context.Context, web *http.Client, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("read %s: %w", address, err)
	}
	answer, err := web.Do(r)
	if err != nil {
		return fmt.Errorf("read %s: %w", address, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("read %s: %s", address, answer.Status)
	}
	return nil
}

// Remove deletes the CustomResourceDefinition with all its objects. A missing definition is not an error.
func (k Kind) Remove(ctx context.Context, env *harness.Env) error {
	return client.IgnoreNotFound(env.Client.Delete(ctx, k.definition()))
}

// Gone returns nil once the CustomResourceDefinition is deleted and can be installed again.
func (k Kind) Gone(ctx context.Context, env *harness.Env) error {
	crd := k.definition()
	if err := env.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
		return client.IgnoreNotFound(err)
	}
	return fmt.Errorf("the CRD %s is still there", k.Name())
}

func (k Kind) definition() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName(k.Name())
	return crd
}

// Adapter returns an adapter with a count at the given path only. It does not create the adapter.
func (k Kind) Adapter(replicas v1alpha1.Path) *v1alpha1.Adapter {
	none := int64(0)
	return &v1alpha1.Adapter{
		ObjectMeta: metav1.ObjectMeta{Name: k.Name()},
		Spec: v1alpha1.AdapterSpec{
			Target: v1alpha1.AdapterTarget{Group: k.Group, Kind: "Press", Versions: []string{"v1"}},
			Scale:  []v1alpha1.ScaleComponent{{Name: "main", Replicas: replicas, Default: &none, Via: v1alpha1.ViaPatch}},
		},
	}
}

// Object returns an object of the kind. It does not create the object.
func (k Kind) Object(namespace, name string, spec map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAPIVersion(k.Group + "/v1")
	obj.SetKind("Press")
	obj.SetNamespace(namespace)
	obj.SetName(name)
	if spec != nil {
		obj.Object["spec"] = spec
	}
	return obj
}

// Number returns the count of an object at a path such as ".spec.pool.size", or -1 if it is absent.
func Number(obj *unstructured.Unstructured, path string) int64 {
	n, found, err := unstructured.NestedInt64(obj.Object, strings.Split(strings.TrimPrefix(path, "."), ".")...)
	if err != nil || !found {
		return -1
	}
	return n
}
