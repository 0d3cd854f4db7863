package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
)

// artifact is an archive served by HTTP.
type artifact struct {
	url    string
	digest string // SHA-256, in hexadecimal digits
	end    func()
}

// serveArtifact serves an archive of files, whose keys are paths in it.
func serveArtifact(files map[string]string) (*artifact, error) {
	var packed bytes.Buffer
	compress := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compress)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: path, Mode: 0o600, Size: int64(len(files[path]))}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", path, err)
		}
		if _, err := archive.Write([]byte(files[path])); err != nil {
			return nil, fmt.Errorf("pack %s: %w", path, err)
		}
	}
	if err := errors.Join(archive.Close(), compress.Close()); err != nil {
		return nil, fmt.Errorf("pack the files: %w", err)
	}
	sum := sha256.Sum256(packed.Bytes())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed.Bytes()) }))
	return &artifact{url: server.URL + "/artifact.tar.gz", digest: hex.EncodeToString(sum[:]), end: server.Close}, nil
}
