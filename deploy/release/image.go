package release

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"time"
)

// imageDir is the directory of the image's OCI layout, below the directory of the release.
const imageDir = "image"

const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// programs are the packages whose programs are in the root directory of the image.
var programs = []string{"./cmd/flyball-manager", "./cmd/kubectl-flyball", "./deploy/hooks/flyball-hook"}

// descriptor identifies a blob of the layout.
type descriptor struct {
	MediaType string            `json:"mediaType"`
	Digest    string            `json:"digest"`
	Size      int               `json:"size"`
	Platform  map[string]string `json:"platform,omitempty"`
}

// manifest is the manifest of the image for one platform, or the index of the images for all platforms.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        *descriptor       `json:"config,omitempty"`
	Layers        []descriptor      `json:"layers,omitempty"`
	Manifests     []descriptor      `json:"manifests,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// runConfig is the part of an image's configuration that a container runtime uses to run it. deploy/docker/Dockerfile
// has the same settings.
type runConfig struct {
	User       string            `json:"User"`
	Entrypoint []string          `json:"Entrypoint"`
	WorkingDir string            `json:"WorkingDir"`
	Labels     map[string]string `json:"Labels"`
}

func (o Options) runConfig() runConfig {
	return runConfig{
		User: "65532:65532", Entrypoint: []string{"/flyball-manager"}, WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title":         "flyball",
			"org.opencontainers.image.description":   "Governs when and how much any Kubernetes workload runs",
			"org.opencontainers.image.url":           "https://flyball.dev",
			"org.opencontainers.image.documentation": "https://flyball.dev/docs",
			"org.opencontainers.image.licenses":      "Apache-2.0",
			"org.opencontainers.image.version":       o.Version,
			"org.opencontainers.image.revision":      o.Revision,
		},
	}
}

// image writes the OCI layout of the image for all its platforms.
func (o Options) image() error {
	index := manifest{SchemaVersion: 2, MediaType: typeIndex, Annotations: o.runConfig().Labels}
	for _, p := range ImagePlatforms {
		var files []entry
		for _, pkg := range programs {
			text, err := o.build(pkg, p)
			if err != nil {
				return err
			}
			files = append(files, entry{path.Base(pkg), 0o755, text})
		}
		one, err := o.platformImage(files, p)
		if err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, one)
	}
	text, err := json.Marshal(index)
	if err != nil {
		return fmt.Errorf("encode the image's index: %w", err)
	}
	if err := o.write(imageDir+"/index.json", text); err != nil {
		return err
	}
	return o.write(imageDir+"/oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
}

// platformImage writes the image of one platform, with the files as its only layer, and returns its descriptor.
func (o Options) platformImage(files []entry, p Platform) (descriptor, error) {
	layer, err := pack(files, o.Time)
	if err != nil {
		return descriptor{}, err
	}
	plain, err := unzip(layer)
	if err != nil {
		return descriptor{}, err
	}
	config, err := o.blob(typeConfig, map[string]any{
		"created": o.Time.UTC().Format(time.RFC3339), "os": p.OS, "architecture": p.Arch, "config": o.runConfig(),
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sum(plain)}},
	})
	if err != nil {
		return descriptor{}, err
	}
	content := descriptor{MediaType: typeLayer, Digest: "sha256:" + sum(layer), Size: len(layer)}
	if err := o.write(imageDir+"/blobs/sha256/"+sum(layer), layer); err != nil {
		return descriptor{}, err
	}
	one, err := o.blob(typeManifest, manifest{SchemaVersion: 2, MediaType: typeManifest, Config: &config, Layers: []descriptor{content}})
	one.Platform = map[string]string{"os": p.OS, "architecture": p.Arch}
	return one, err
}

// blob writes a value as JSON into the layout and returns its descriptor.
func (o Options) blob(mediaType string, value any) (descriptor, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, fmt.Errorf("encode a part of the image: %w", err)
	}
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum(text), Size: len(text)}, o.write(imageDir+"/blobs/sha256/"+sum(text), text)
}

func unzip(text []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the layer: %w", err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read the layer: %w", err)
	}
	return plain, nil
}
