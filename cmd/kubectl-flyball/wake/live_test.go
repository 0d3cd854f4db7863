package wake

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/wake"
	"flyball.dev/flyball/engine/workload"
)

// TestWriteSendsTheMarkAndExplainsRefusals checks the request that writes the mark on an object or a namespace, and
// the error of each refusal.
func TestWriteSendsTheMarkAndExplainsRefusals(t *testing.T) {
	until := time.Date(2037, 5, 14, 9, 0, 0, 0, time.UTC)
	web := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	object := Place{wake.OfObject(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, web)}
	for name, c := range map[string]struct {
		place         Place
		code          int
		reason        string
		request, want string
	}{
		"object": {object, http.StatusOK, "", "PATCH /apis/apps/v1/namespaces/shop/deployments/web " +
			`{"metadata":{"annotations":{"flyball.dev/awake-reason":"a test","flyball.dev/awake-until":"2037-05-14T09:00:00Z"}}}`, ""},
		"namespace": {Place{wake.OfNamespace("shop")}, http.StatusOK, "", "PATCH /api/v1/namespaces/shop ", ""},
		"no right": {object, http.StatusForbidden, "Forbidden", "PATCH ",
			"to wake it, this right is needed: patch deployments.apps in namespace shop"},
		"not found": {object, http.StatusNotFound, "NotFound", "PATCH ", "annotate "},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = r.Method + " " + r.URL.Path + " " + string(body)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"message":"refused","reason":"`+c.reason+`"}`)
			}))
			t.Cleanup(server.Close)
			client := dynamic.NewForConfigOrDie(&rest.Config{Host: server.URL})
			err := Awake.Write(t.Context(), client, []Place{c.place}, until, "a test", metav1.PatchOptions{})
			if !strings.HasPrefix(got, c.request) || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("sent %s, error %v; want %s, %q", got, err, c.request, c.want)
			}
		})
	}
}
