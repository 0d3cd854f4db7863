package deploy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// Install returns install.yaml, the whole installation in one file for kubectl apply -f: the CRDs, the kustomize base
// with the image of the version, and a Job that applies the adapters.
func Install(root, image, version string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(root, "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("find CRDs: %d files, %w", len(files), err)
	}
	for _, name := range []string{"base/namespace.yaml", "base/flyball.yaml", "adapters-job.yaml"} {
		files = append(files, filepath.Join(root, "deploy/kustomize", name))
	}
	out := []byte("# Flyball " + version + " with the adapters of Kubernetes' own kinds: kubectl apply -f install.yaml\n")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a part of install.yaml: %w", err)
		}
		out = append(append(out, "---\n"...), bytes.TrimPrefix(text, []byte("---\n"))...)
	}
	return []byte(strings.NewReplacer(
		"image: "+DevelopmentImage+"\n", "image: "+image+":"+version+"\n",
		"  name: flyball-install\n", "  name: flyball-install-"+notInName.ReplaceAllString(strings.ToLower(version), "-")+"\n",
	).Replace(string(out))), nil
}
