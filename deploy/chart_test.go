package deploy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/deploy"
)

// categories are the categories of Artifact Hub.
var categories = []string{"ai-machine-learning", "database", "integration-delivery", "monitoring-logging", "networking", "security",
	"storage", "streaming-messaging"}

// description is the part of Chart.yaml that a catalogue shows.
type description struct {
	Home, Icon, KubeVersion string
	Sources                 []string
	Maintainers             []struct{ Name, URL string }
	Annotations             map[string]string
}

func readChart(t *testing.T) (d description) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", deploy.ChartFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestChartDescribesItself(t *testing.T) {
	d := readChart(t)
	if d.Home == "" || d.KubeVersion == "" || len(d.Sources) == 0 || len(d.Maintainers) == 0 || d.Maintainers[0].Name == "" {
		t.Errorf("the chart lacks its home, sources, maintainers or kubeVersion: %+v", d)
	}
	if name := filepath.Base(d.Icon); !strings.HasPrefix(d.Icon, "https://") {
		t.Errorf("the icon %q is no address", d.Icon)
	} else if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), "<svg") || strings.Contains(string(text), "href") {
		t.Errorf("deploy/%s is no picture that stands alone: %v", name, err)
	}
	if c := d.Annotations["artifacthub.io/category"]; !slices.Contains(categories, c) {
		t.Errorf("Artifact Hub has no category %q", c)
	}
	if l := d.Annotations["artifacthub.io/license"]; l != "Apache-2.0" {
		t.Errorf("the licence is %q", l)
	}
	var links []struct{ Name, URL string }
	decode(t, d, "links", &links)
	for _, l := range links {
		if l.Name == "" || !strings.HasPrefix(l.URL, "https://") {
			t.Errorf("the link %+v leads nowhere", l)
		}
	}
}

// decode reads an annotation of Artifact Hub strictly.
func decode(t *testing.T, d description, name string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(d.Annotations["artifacthub.io/"+name]), into); err != nil {
		t.Fatalf("the annotation %s: %v", name, err)
	}
}

// TestArtifactHubListsTheKinds checks the generated annotations: each CRD, an example of each kind that users write,
// the image, and the changes as plain text.
func TestArtifactHubListsTheKinds(t *testing.T) {
	d := readChart(t)
	var kinds []struct{ Kind, Version, Name, DisplayName, Description string }
	var examples []struct {
		APIVersion, Kind string
		Metadata, Spec   map[string]any
	}
	var images []struct{ Name, Image string }
	var changes []struct{ Kind, Description string }
	decode(t, d, "crds", &kinds)
	decode(t, d, "crdsExamples", &examples)
	decode(t, d, "images", &images)
	decode(t, d, "changes", &changes)
	files, err := filepath.Glob("../crds/*.yaml")
	if err != nil || len(files) != len(kinds) {
		t.Errorf("there are %d CRDs, and the chart lists %d, %v", len(files), len(kinds), err)
	}
	shown := map[string]bool{}
	for _, e := range examples {
		shown[e.Kind] = e.Metadata["name"] != nil && len(e.Spec) > 0
	}
	for _, k := range kinds {
		if k.Description == "" || k.DisplayName == "" || !strings.HasSuffix(k.Name, ".flyball.dev") {
			t.Errorf("the kind is incomplete: %+v", k)
		}
		written := k.Kind != "Recommendation" && k.Kind != "UsageCheckpoint" // Flyball writes these itself
		// A Cluster kind has the same fields as the kind without Cluster in its name, so one sample is enough.
		if got := shown[k.Kind] || shown[strings.TrimPrefix(k.Kind, "Cluster")]; got != written {
			t.Errorf("the chart has an example of %s: %v, want %v", k.Kind, got, written)
		}
	}
	if len(images) != 1 || images[0].Image != deploy.DevelopmentImage {
		t.Errorf("the images are %+v", images)
	}
	if len(changes) == 0 {
		t.Error("there are no changes")
	}
	for _, c := range changes {
		if !slices.Contains([]string{"added", "changed", "deprecated", "removed", "fixed", "security"}, c.Kind) ||
			strings.ContainsAny(c.Description, "*`[]") {
			t.Errorf("the change %+v is not as Artifact Hub takes it", c)
		}
	}
}
