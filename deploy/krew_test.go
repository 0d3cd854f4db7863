package deploy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestKrewManifest fills the template in as the release does, and looks for what Krew requires of a plugin.
func TestKrewManifest(t *testing.T) {
	text, err := os.ReadFile("krew/flyball.yaml")
	if err != nil {
		t.Fatal(err)
	}
	filled := regexp.MustCompile(`\{\{addURIAndSha "([^"]*)" \.TagName \}\}`).ReplaceAllString(string(text), "uri: $1\n    sha256: abc")
	filled = strings.ReplaceAll(filled, "{{ .TagName }}", "v1.2.3")
	var plugin struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct{ Name string }
		Spec       struct {
			Version, ShortDescription, Description, Homepage string
			Platforms                                        []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
			}
		}
	}
	if err := yaml.UnmarshalStrict([]byte(filled), &plugin); err != nil {
		t.Fatalf("%v in\n%s", err, filled)
	}
	if plugin.Kind != "Plugin" || plugin.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || plugin.Metadata.Name != "flyball" ||
		plugin.Spec.Version != "v1.2.3" {
		t.Errorf("the head is %+v", plugin)
	}
	if n := len(plugin.Spec.ShortDescription); n == 0 || n > 50 {
		t.Errorf("the short description has %d bytes; Krew shows at most 50", n)
	}
	if len(plugin.Spec.Platforms) < 4 {
		t.Errorf("there are %d platforms", len(plugin.Spec.Platforms))
	}
	for _, p := range plugin.Spec.Platforms {
		want := "kubectl-flyball"
		if p.Selector.MatchLabels["os"] == "windows" {
			want += ".exe"
		}
		if p.Bin != want || !strings.Contains(p.URI, "v1.2.3/kubectl-flyball_"+p.Selector.MatchLabels["os"]+"_"+p.Selector.MatchLabels["arch"]) {
			t.Errorf("the platform %v has %s from %s", p.Selector.MatchLabels, p.Bin, p.URI)
		}
	}
}
