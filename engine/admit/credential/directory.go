package credential

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	certutil "k8s.io/client-go/util/cert"

	"flyball.dev/flyball/engine/poke"
)

// lookEvery is the interval of reading the files. Their writers are slower.
const lookEvery = 2 * time.Second

// Directory is a certificate of another issuer, such as cert-manager, in the files tls.crt, tls.key and ca.crt. New
// files are served at once. A new certificate must come from the same authority; otherwise API servers refuse it until
// they know the new authority.
type Directory struct {
	path string
	log  logr.Logger
	now  atomic.Pointer[Issued]
}

// Issued is a certificate with the authorities that API servers use to verify it.
type Issued struct {
	Serving *tls.Certificate
	// Bundle is the content of ca.crt. Empty means that the system authorities of the API servers suffice.
	Bundle []byte
}

// OpenDirectory reads a directory. It returns an error if the files are unusable.
func OpenDirectory(path string, log logr.Logger) (*Directory, error) {
	d := &Directory{path: path, log: log}
	if _, err := d.load(); err != nil {
		return nil, err
	}
	return d, nil
}

// load reads the files and reports whether they have changed.
func (d *Directory) load() (changed bool, err error) {
	next, err := readIssued(d.path)
	if err != nil {
		return false, err
	}
	old := d.now.Load()
	if old != nil && bytes.Equal(old.Bundle, next.Bundle) && slices.EqualFunc(old.Serving.Certificate, next.Serving.Certificate, bytes.Equal) {
		return false, nil
	}
	d.now.Store(next)
	return true, nil
}

// readIssued reads a certificate with its key and its authorities.
func readIssued(path string) (*Issued, error) {
	// The kubelet replaces all files at once by switching a link. Files read through the resolved link belong together.
	if data, err := filepath.EvalSymlinks(filepath.Join(path, "..data")); err == nil {
		path = data
	}
	serving, err := tls.LoadX509KeyPair(filepath.Join(path, servingCertKey), filepath.Join(path, servingKeyKey))
	if err != nil {
		return nil, fmt.Errorf("load the webhook's certificate from %s: %w", path, err)
	}
	bundle, err := os.ReadFile(filepath.Join(path, bundleKey))
	if errors.Is(err, fs.ErrNotExist) {
		return &Issued{Serving: &serving}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the webhook's certificate authority: %w", err)
	}
	if _, err := certutil.ParseCertsPEM(bundle); err != nil {
		return nil, fmt.Errorf("read the webhook's certificate authority from %s: %w", filepath.Join(path, bundleKey), err)
	}
	return &Issued{Serving: &serving, Bundle: bundle}, nil
}

// Now returns the certificate currently served.
func (d *Directory) Now() *Issued { return d.now.Load() }

// Look serves new files as they arrive and then notifies, until the context ends. While the files cannot be read, it
// keeps serving the previous files.
func (d *Directory) Look(ctx context.Context, notify chan<- struct{}) {
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		changed, err := d.load()
		switch {
		case err != nil:
			if err.Error() != logged {
				d.log.Error(err, "Failed to load the webhook's certificate; keeping the previous certificate")
			}
			logged = err.Error()
		case changed:
			logged = ""
			d.log.Info("Serving a new certificate from the directory", "directory", d.path)
			poke.Poke(notify)
		}
	}
}
