package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// These are the files of the share directory.
const (
	assetNodeStages   = "kwok-nodes.yaml"
	assetPodStages    = "kwok-pods.yaml"
	assetVolumeStages = "kwok-volumes.yaml"
	assetStorageClass = "storage-class.yaml"
	assetUsage        = "kwok-usage.yaml"
	assetVPACRDs      = "vpa-crds.yaml"
)

func kwokAssets() []asset {
	const module = "sigs.k8s.io/kwok"
	return []asset{
		{file: assetNodeStages, module: module, sources: []string{
			"kustomize/stage/node/fast/node-initialize.yaml",
			"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
		}},
		{file: assetPodStages, module: module, sources: []string{
			"kustomize/stage/pod/fast/pod-ready.yaml",
			"kustomize/stage/pod/fast/pod-complete.yaml",
			"kustomize/stage/pod/fast/pod-delete.yaml",
		}},
		{file: assetVolumeStages, module: module, sources: []string{
			"kustomize/stage/volume/fast/pv-bind.yaml",
			"kustomize/stage/volume/fast/pv-delete.yaml",
			"kustomize/stage/volume/fast/pvc-provision.yaml",
			"kustomize/stage/volume/fast/pvc-delete.yaml",
		}},
		{file: assetStorageClass, module: module, sources: []string{"kustomize/stage/volume/fast/storage-class.yaml"}},
		{file: assetUsage, module: module, sources: []string{
			"kustomize/metrics/usage/usage-from-annotation.yaml",
			"kustomize/metrics/resource/metrics-resource.yaml",
		}},
	}
}

// writeAsset joins the sources below moduleDir and puts the file in place.
func writeAsset(a asset, moduleDir, shareDir string) error {
	docs := make([]string, 0, len(a.sources))
	for _, source := range a.sources {
		raw, err := os.ReadFile(filepath.Join(moduleDir, filepath.FromSlash(source)))
		if err != nil {
			return fmt.Errorf("read %s of module %s: %w", source, a.module, err)
		}
		docs = append(docs, strings.TrimSpace(string(raw))+"\n")
	}
	text := strings.Join(docs, "---\n")
	target := filepath.Join(shareDir, a.file)
	if err := os.WriteFile(target+".tmp", []byte(text), 0o644); err != nil {
		return fmt.Errorf("write asset %s: %w", a.file, err)
	}
	if err := os.Rename(target+".tmp", target); err != nil {
		return fmt.Errorf("put asset %s in place: %w", a.file, err)
	}
	return nil
}
