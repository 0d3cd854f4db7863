package credential

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"flyball.dev/flyball/engine/workers"
)

// Directory is a certificate of another issuer, such as cert-manager, in the files tls.crt, tls.key and ca.crt. A new
// certificate is served as soon as it is written, and must come from the same authority; otherwise API servers refuse it
// until they know the new authority.
type Directory struct {
	path  string
	files *certwatcher.CertWatcher
}

// OpenDirectory reads a directory. It returns an error if the files are unusable.
func OpenDirectory(path string) (*Directory, error) {
	files, err := certwatcher.New(filepath.Join(path, corev1.TLSCertKey), filepath.Join(path, corev1.TLSPrivateKeyKey))
	if err != nil {
		return nil, fmt.Errorf("load the webhook's certificate from %s: %w", path, err)
	}
	d := &Directory{path: path, files: files}
	_, err = d.Bundle()
	return d, err
}

// Bundle returns the content of ca.crt. Empty means the system authorities of the API servers suffice.
func (d *Directory) Bundle() ([]byte, error) {
	bundle, err := os.ReadFile(filepath.Join(d.path, bundleKey))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		_, err = certutil.ParseCertsPEM(bundle)
	}
	if err != nil {
		return nil, fmt.Errorf("read the webhook's certificate authority from %s: %w", filepath.Join(d.path, bundleKey), err)
	}
	return bundle, nil
}

// Serving returns the certificate currently served.
func (d *Directory) Serving() (*tls.Certificate, error) { return d.files.GetCertificate(nil) }

// Watch serves new files as they arrive and then notifies, until the context ends. While the files cannot be read, it
// keeps serving the previous certificate.
func (d *Directory) Watch(ctx context.Context, notify chan<- struct{}) error {
	d.files.RegisterCallback(func(tls.Certificate) { workers.Poke(notify) })
	return d.files.Start(ctx)
}
