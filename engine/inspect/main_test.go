package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/test/await"
	"flyball.dev/flyball/test/local"
)

// api is the API server shared by all tests of this package.
var api *local.Cluster

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	cluster, err := local.Up(context.Background(), local.Options{Level: local.LevelAPI})
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the cluster:", err)
		return 1
	}
	api = cluster
	code := m.Run()
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the cluster:", err)
		return 1
	}
	return code
}

func newInspector(t *testing.T, config *rest.Config) *inspect.Inspector {
	t.Helper()
	inspector, err := inspect.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return inspector
}

// readCRD reads testdata/widgets.yaml under another group, so that tests do not interfere.
func readCRD(t *testing.T, group string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile("testdata/widgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, crd); err != nil {
		t.Fatal(err)
	}
	crd.Spec.Group = group
	crd.Name = crd.Spec.Names.Plural + "." + group
	return crd
}

func crds(t *testing.T) apiextensionsclient.CustomResourceDefinitionInterface {
	t.Helper()
	client, err := apiextensionsclient.NewForConfig(api.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client.CustomResourceDefinitions()
}

// install creates the CRD, removes it after the test, and waits until it is established, its kind served and its schema published.
func install(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	client := crds(t)
	if _, err := client.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Delete(context.Background(), crd.Name, metav1.DeleteOptions{}) // the test may have deleted it
	})
	inspector := newInspector(t, api.Config())
	eventually(t, "the schema of "+crd.Name, func() error {
		switch live, err := client.Get(t.Context(), crd.Name, metav1.GetOptions{}); {
		case err != nil:
			return err
		case !apihelpers.IsCRDConditionTrue(live, apiextensionsv1.Established):
			return errors.New("it is not established yet")
		}
		for _, v := range crd.Spec.Versions { // each version is published separately
			served, err := inspector.Serve(t.Context(), crd.Spec.Group, crd.Spec.Names.Kind, []string{v.Name})
			if err != nil || v.Served && !served.Found {
				return fmt.Errorf("%s %w", served.Message, err)
			}
			if _, err := inspector.MatchSchema(t.Context(), served.GVK, nil); v.Served && err != nil {
				return err
			}
		}
		return nil
	})
}

// eventually retries until there is no error, for at most a minute.
func eventually(t *testing.T, condition string, try func() error) {
	t.Helper()
	await.NoError(t, condition, try)
}
