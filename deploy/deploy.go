// Package deploy makes the copies that the Helm chart needs, because Helm reads no file outside a chart: the CRDs, the
// adapter library, the alerts, the dashboard and the values. It also makes the names of the policy kinds and the
// annotations of the chart. Each copy has the same text as its original, and a copy is removed when its original is
// gone.
package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// copies are the path patterns of originals and of their copies, below the repository's root. The star in the path of a
// copy stands for the name of its original.
var copies = []struct{ from, to string }{
	{"crds/*.yaml", "deploy/helm/flyball/crds/*.yaml"},
	{"adapters/*/*/adapter.yaml", "deploy/helm/flyball/files/adapters/*.yaml"},
	{"deploy/alerts/flyball.yaml", "deploy/helm/flyball/files/alerts.yaml"},
	{"deploy/dashboards/flyball.json", "deploy/helm/flyball/files/dashboard.json"},
	{"deploy/helm/flyball/values.yaml", "deploy/helm/flyball/files/defaults.yaml"},
}

// Copied returns the path patterns, below the repository's root, of all files that Files returns.
func Copied() []string {
	patterns := []string{kindsFile, ChartFile}
	for _, c := range copies {
		patterns = append(patterns, c.to)
	}
	return patterns
}

// Files returns the content of every copied file, by its path below the repository's root.
func Files(root string) (map[string][]byte, error) {
	chart, err := chartFile(root)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{kindsFile: kindsTemplate(), ChartFile: chart}
	for _, c := range copies {
		originals, err := filepath.Glob(filepath.Join(root, c.from))
		if err != nil || len(originals) == 0 {
			return nil, fmt.Errorf("find %s below %s: %d files, %w", c.from, root, len(originals), err)
		}
		for _, file := range originals {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("copy to %s: %w", c.to, err)
			}
			name, err := nameOf(file, text)
			if err != nil {
				return nil, err
			}
			files[strings.Replace(c.to, "*", name, 1)] = text
		}
	}
	return files, nil
}

// nameOf returns the name of a file without its ending. For an adapter it returns metadata.name, because the files of
// all adapters have the same name.
func nameOf(file string, text []byte) (string, error) {
	if filepath.Base(file) != "adapter.yaml" {
		return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), nil
	}
	var object metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(text, &object); err != nil || object.Name == "" {
		return "", fmt.Errorf("%s: metadata.name %q, %w", file, object.Name, err)
	}
	return object.Name, nil
}
