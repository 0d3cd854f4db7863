package release

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestKrewManifest fills in the template like a release, and checks that the fields required by Krew are there.
func TestKrewManifest(t *testing.T) {
	o := options(t)
	sums := map[string]string{}
	for _, p := range Platforms {
		sums[archiveName(p)] = sum([]byte(p.String()))
	}
	text, err := o.krew(sums)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := yaml.UnmarshalStrict(text, &plugin); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if plugin.Kind != "Plugin" || plugin.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || plugin.Metadata.Name != "flyball" ||
		plugin.Spec.Version != "v1.2.3" {
		t.Errorf("the head is %+v", plugin)
	}
	if n := len(plugin.Spec.ShortDescription); n == 0 || n > 50 {
		t.Errorf("the short description has %d bytes; Krew shows at most 50", n)
	}
	if len(plugin.Spec.Platforms) != len(Platforms) {
		t.Errorf("there are %d platforms, want %d", len(plugin.Spec.Platforms), len(Platforms))
	}
	for _, got := range plugin.Spec.Platforms {
		p, bin := Platform{got.Selector.MatchLabels["os"], got.Selector.MatchLabels["arch"]}, "kubectl-flyball"
		if p.OS == "windows" {
			bin += ".exe"
		}
		if got.Bin != bin || got.URI != "https://downloads.example.com/v1.2.3/"+archiveName(p) || got.SHA256 != sums[archiveName(p)] {
			t.Errorf("the platform %s has %+v", p, got)
		}
	}
	delete(sums, archiveName(Platforms[0]))
	if _, err := o.krew(sums); err == nil || !strings.Contains(err.Error(), archiveName(Platforms[0])) {
		t.Errorf("without an archive: got %v, want its name", err)
	}
}
