package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"flyball.dev/flyball/engine/workers"
)

// directory is a certificate of another issuer, such as cert-manager, in the files tls.crt, tls.key and ca.crt. A new
// certificate is served as soon as it is written, and must come from the same authority; otherwise API servers refuse it
// until they know the new authority.
type directory struct {
	path  string
	files *certwatcher.CertWatcher
}

// openDirectory reads a directory. It returns an error if the files are unusable.
func openDirectory(path string) (*directory, error) {
	files, err := certwatcher.New(filepath.Join(path, corev1.TLSCertKey), filepath.Join(path, corev1.TLSPrivateKeyKey))
	if err != nil {
		return nil, fmt.Errorf("load the webhook's certificate from %s: %w", path, err)
	}
	d := &directory{path: path, files: files}
	_, err = d.bundle()
	return d, err
}

// bundle returns the content of ca.crt.
func (d *directory) bundle() ([]byte, error) {
	file := filepath.Join(d.path, bundleKey)
	bundle, err := os.ReadFile(file)
	if err == nil {
		_, err = certutil.ParseCertsPEM(bundle)
	}
	if err != nil {
		return nil, fmt.Errorf("read the webhook's certificate authority from %s: %w", file, err)
	}
	return bundle, nil
}

// watch serves new files as they arrive and then notifies, until the context ends. While the files cannot be read, it
// keeps serving the previous certificate.
func (d *directory) watch(ctx context.Context, notify chan<- struct{}) error {
	d.files.RegisterCallback(func(tls.Certificate) { workers.Poke(notify) })
	return d.files.Start(ctx)
}
