// Package deploy keeps the copies that the Helm chart needs, since Helm reads no file outside a chart: the CRDs, the adapter
// library, the alerts, the dashboard and the values, and the names of the policy kinds. It promises that each copy is the same text as its
// original, and that none is left of an original that is gone.
package deploy

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Copied are the patterns, below the repository's root, of all files that Files makes.
func Copied() []string {
	return []string{
		"deploy/helm/flyball/crds/*.yaml",
		"deploy/helm/flyball/files/adapters/*.yaml",
		"deploy/helm/flyball/files/alerts.yaml",
		"deploy/helm/flyball/files/dashboard.json",
		"deploy/helm/flyball/files/defaults.yaml",
		kindsFile,
	}
}

// Files gives the content of every copied file, by its path below the repository's root.
func Files(root string) (map[string][]byte, error) {
	files := map[string][]byte{kindsFile: kindsTemplate()}
	crds, err := filepath.Glob(filepath.Join(root, "crds", "*.yaml"))
	if err != nil || len(crds) == 0 {
		return nil, fmt.Errorf("find CRDs below %s: %d files, %w", root, len(crds), err)
	}
	for _, file := range crds {
		if err := add(files, "deploy/helm/flyball/crds/"+filepath.Base(file), file); err != nil {
			return nil, err
		}
	}
	adapters, err := filepath.Glob(filepath.Join(root, "adapters", "*", "*", "adapter.yaml"))
	if err != nil || len(adapters) == 0 {
		return nil, fmt.Errorf("find adapters below %s: %d files, %w", root, len(adapters), err)
	}
	for _, file := range adapters {
		name, err := nameOf(file)
		if err != nil {
			return nil, err
		}
		if err := add(files, "deploy/helm/flyball/files/adapters/"+name+".yaml", file); err != nil {
			return nil, err
		}
	}
	if err := add(files, "deploy/helm/flyball/files/alerts.yaml", filepath.Join(root, "deploy", "alerts", "flyball.yaml")); err != nil {
		return nil, err
	}
	if err := add(files, "deploy/helm/flyball/files/defaults.yaml", filepath.Join(root, "deploy", "helm", "flyball", "values.yaml")); err != nil {
		return nil, err
	}
	return files, add(files, "deploy/helm/flyball/files/dashboard.json", filepath.Join(root, "deploy", "dashboards", "flyball.json"))
}

func add(files map[string][]byte, to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("copy to %s: %w", to, err)
	}
	files[to] = text
	return nil
}

// nameOf reads metadata.name of a manifest.
func nameOf(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read an adapter: %w", err)
	}
	var object struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil || object.Metadata.Name == "" {
		return "", fmt.Errorf("%s: metadata.name %q, %w", file, object.Metadata.Name, err)
	}
	return object.Metadata.Name, nil
}
