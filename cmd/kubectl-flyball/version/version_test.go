package version

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"flyball.dev/flyball/crds/v1alpha1"
)

// TestWarningsOfVersionsThatDoNotFit checks the warnings about versions that do not fit together.
func TestWarningsOfVersionsThatDoNotFit(t *testing.T) {
	group := func(name, version string) string {
		return fmt.Sprintf(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":%q,"versions":[{"groupVersion":"%s/%s","version":%q}]}]}`,
			name, name, version, version)
	}
	own := v1alpha1.GroupVersion
	for name, c := range map[string]struct {
		image, groups    string
		manager, warning string
	}{
		"equal":         {"registry.example.com:5000/flyball:v1", group(own.Group, own.Version), "v1", ""},
		"older manager": {"flyball:v0", group(own.Group, own.Version), "v0", "the manager is v0 and this plugin v1"},
		"digest":        {"flyball@sha256:00", group(own.Group, own.Version), "flyball@sha256:00", "the manager is flyball@sha256:00"},
		"another API":   {"flyball:v1", group(own.Group, "v9"), "v1", "the cluster serves flyball.dev/v9, and this plugin speaks"},
		"no API":        {"flyball:v1", group("example.com", "v1"), "v1", "Flyball's CRDs are not installed"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]string{"/apis": c.groups, "/api": `{"kind":"APIVersions"}`, "/version": `{"gitVersion":"v1.34.0"}`,
				"/apis/apps/v1/namespaces/flyball-system/deployments": fmt.Sprintf(
					`{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"spec":{"template":{"spec":{"containers":[{"image":%q}]}}}}]}`, c.image)}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(answers[r.URL.Path]))
			}))
			t.Cleanup(server.Close)
			v := Versions{Client: "v1", ClientAPI: own.String()}
			if err := v.Ask(t.Context(), &rest.Config{Host: server.URL}, "flyball-system"); err != nil {
				t.Fatal(err)
			}
			said := strings.Join(v.Warnings, "\n")
			if v.Manager != c.manager || v.Kubernetes != "v1.34.0" || (said == "") != (c.warning == "") || !strings.Contains(said, c.warning) {
				t.Errorf("%+v, want the manager %s and the warning %q", v, c.manager, c.warning)
			}
		})
	}
}
