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

// lookEvery is how often the files are looked at. Whoever puts them there takes longer.
const lookEvery = 2 * time.Second

// Directory is a certificate that somebody else makes, such as cert-manager, in the files tls.crt, tls.key and ca.crt. New
// files are served at once, so what replaces a certificate has to come from the same authority, or API servers refuse it
// until they know the new one.
type Directory struct {
	path string
	log  logr.Logger
	now  atomic.Pointer[Issued]
}

// Issued is a certificate with the authorities by which API servers know it.
type Issued struct {
	Serving *tls.Certificate
	// Bundle is ca.crt; empty where the authorities of the API servers' system do.
	Bundle []byte
}

// OpenDirectory reads what is in a directory. The error says what cannot be used.
func OpenDirectory(path string, log logr.Logger) (*Directory, error) {
	d := &Directory{path: path, log: log}
	if _, err := d.load(); err != nil {
		return nil, err
	}
	return d, nil
}

// load takes what is in the files and says whether it is new.
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
	// The kubelet puts all files in place at once, by one link. What is read behind it belongs together.
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

// Now is the certificate that is served now.
func (d *Directory) Now() *Issued { return d.now.Load() }

// Look serves new files as they come and notifies then, until the context ends. While the files cannot be read, what was read
// before is served.
func (d *Directory) Look(ctx context.Context, notify chan<- struct{}) {
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		changed, err := d.load()
		switch {
		case err != nil:
			if err.Error() != told {
				d.log.Error(err, "the webhook's certificate stays as it is")
			}
			told = err.Error()
		case changed:
			told = ""
			d.log.Info("serving another certificate from the directory", "directory", d.path)
			poke.Poke(notify)
		}
	}
}
