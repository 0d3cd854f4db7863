package release

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"slices"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string
	mode int64
	text []byte
}

// pack returns the entries as a gzipped tar archive. The bytes depend only on the entries and the time: entries are
// sorted, belong to no user, and have the given time as their time of change.
func pack(entries []entry, at time.Time) ([]byte, error) {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.text)),
			ModTime: at.UTC().Truncate(time.Second), Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", e.name, err)
		}
		if _, err := archive.Write(e.text); err != nil {
			return nil, fmt.Errorf("pack %s: %w", e.name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("end the archive: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("compress the archive: %w", err)
	}
	return out.Bytes(), nil
}
