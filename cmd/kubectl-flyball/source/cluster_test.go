package source_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
)

// TestObjectsAndMissingRightsComeFromLists checks the objects and the missing rights that come from the answers of
// an API server to lists.
func TestObjectsAndMissingRightsComeFromLists(t *testing.T) {
	deployments := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{deployments.GroupVersion(), {Version: "v1"},
		{Group: "flyball.dev", Version: "v1alpha1"}})
	mapper.Add(deployments, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
	mapper.Add(schema.GroupVersionKind{Group: "flyball.dev", Version: "v1alpha1", Kind: "Schedule"}, meta.RESTScopeNamespace)
	const object = `{"apiVersion":"%s","kind":"%s","metadata":{"name":"%s"}}`
	answers := map[string]string{
		"/apis/apps/v1/namespaces/shop/deployments": `{"apiVersion":"apps/v1","kind":"DeploymentList","metadata":{},"items":[` +
			fmt.Sprintf(object, "apps/v1", "Deployment", "web") + `,` + fmt.Sprintf(object, "apps/v1", "Deployment", "api") + `]}`,
		"/api/v1/namespaces/shop": fmt.Sprintf(object, "v1", "Namespace", "shop"),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if answer, ok := answers[r.URL.Path]; ok {
			_, _ = w.Write([]byte(answer))
			return
		}
		code, reason := http.StatusForbidden, "Forbidden"
		if strings.HasPrefix(r.URL.Path, "/apis/flyball.dev/") {
			code, reason = http.StatusNotFound, "NotFound"
		}
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"no"}`, reason, code)
	}))
	t.Cleanup(server.Close)
	cluster := source.Cluster{Client: dynamic.NewForConfigOrDie(&rest.Config{Host: server.URL}), Mapper: mapper}
	for name, c := range map[string]struct {
		kind      schema.GroupKind
		namespace string
		names     string
		err       string
	}{
		"objects":       {deployments.GroupKind(), "shop", "web api", ""},
		"own namespace": {schema.GroupKind{Kind: "Namespace"}, "shop", "shop", ""},
		"not served":    {schema.GroupKind{Group: "example.com", Kind: "Press"}, "shop", "", ""},
		"no right":      {deployments.GroupKind(), "", "", "list deployments.apps in all namespaces"},
		"no CRDs": {schema.GroupKind{Group: "flyball.dev", Kind: "Schedule"}, "shop", "",
			"list schedules.flyball.dev: this cluster does not have Flyball's CRDs"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := cluster.Objects(t.Context(), []schema.GroupKind{c.kind}, c.namespace)
			var names []string
			for _, raw := range found {
				names = append(names, source.RefOf(raw).Name)
			}
			if got := strings.Join(names, " "); got != c.names || (err == nil) != (c.err == "") || err != nil &&
				!strings.Contains(err.Error(), c.err) {
				t.Errorf("found %q, error %v; want %q, %q", got, err, c.names, c.err)
			}
		})
	}
}

// TestFollowedObjectsOfTheClusterAreReadForANamespace checks that a world of one namespace has the cluster-scoped objects that others
// follow, and no other cluster-scoped objects.
func TestFollowedObjectsOfTheClusterAreReadForANamespace(t *testing.T) {
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	used := v1alpha1.AdapterList{TypeMeta: metav1.TypeMeta{APIVersion: "flyball.dev/v1alpha1", Kind: "AdapterList"}}
	served := map[string]bool{} // by path
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []struct {
		name  string
		scope meta.RESTScope
		path  string
	}{
		{"localqueues.kueue.x-k8s.io", meta.RESTScopeNamespace, "namespaces/shop/localqueues"},
		{"clusterqueues.kueue.x-k8s.io", meta.RESTScopeRoot, "clusterqueues"},
		{"nodepools.karpenter.sh", meta.RESTScopeRoot, "nodepools"},
	} {
		i := slices.IndexFunc(library, func(a v1alpha1.Adapter) bool { return a.Name == kind.name })
		a := library[i]
		used.Items = append(used.Items, a)
		gvk := a.Spec.Target.GroupKind().WithVersion(a.Spec.Target.Versions[0])
		mapper.AddSpecific(gvk, gvk.GroupVersion().WithResource(path.Base(kind.path)), gvk.GroupVersion().WithResource(""), kind.scope)
		served["/apis/"+gvk.GroupVersion().String()+"/"+kind.path] = true
	}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		list := any(map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{}, "items": []any{}})
		if strings.HasSuffix(r.URL.Path, "/adapters") {
			list = used
		}
		if r.URL.Path == "/api/v1/namespaces/shop" {
			list = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
		}
		if served[r.URL.Path] {
			asked = append(asked, path.Base(r.URL.Path))
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	cluster := source.Cluster{Client: dynamic.NewForConfigOrDie(&rest.Config{Host: server.URL}), Mapper: mapper}
	if _, err := cluster.Load(t.Context(), source.Query{Namespace: "shop"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"clusterqueues", "localqueues"}; !slices.Equal(slices.Sorted(slices.Values(asked)), want) {
		t.Errorf("the lists read are %v, want %v", asked, want)
	}
}
