package source_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
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
