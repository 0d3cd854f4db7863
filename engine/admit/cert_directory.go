package admit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	certutil "k8s.io/client-go/util/cert"
)

// lookEvery is how often the files are looked at. Whoever puts them there takes longer.
const lookEvery = 2 * time.Second

// directory serves certificates that somebody else makes, such as cert-manager, from the files tls.crt, tls.key and ca.crt,
// and hands over to newer ones. The configurations get the authorities of ca.crt.
type directory struct {
	path     string
	hooks    *hooks
	handover handover
	log      logr.Logger

	files   atomic.Pointer[issued]
	current atomic.Pointer[kept]
}

func newDirectory(path string, overlap time.Duration, h *hooks, log logr.Logger) (*directory, error) {
	files, err := readIssued(path)
	if err != nil {
		return nil, err
	}
	bundle, err := encode(files.authorities)
	if err != nil {
		return nil, err
	}
	d := &directory{path: path, hooks: h, handover: handover{spares: spares{overlap: overlap}}, log: log}
	d.files.Store(&files)
	d.current.Store(&kept{serving: files.serving, bundle: bundle, pending: errors.New("the configurations have not been read yet")})
	return d, nil
}

// readIssued reads a certificate with its key and its authorities.
func readIssued(path string) (issued, error) {
	// The kubelet puts all files in place at once, by one link. What is read behind it belongs together.
	if data, err := filepath.EvalSymlinks(filepath.Join(path, "..data")); err == nil {
		path = data
	}
	serving, err := tls.LoadX509KeyPair(filepath.Join(path, servingCertKey), filepath.Join(path, servingKeyKey))
	if err != nil {
		return issued{}, fmt.Errorf("load the webhook's certificate from %s: %w", path, err)
	}
	bundle, err := os.ReadFile(filepath.Join(path, bundleKey))
	if errors.Is(err, fs.ErrNotExist) {
		return issued{serving: &serving}, nil
	}
	if err != nil {
		return issued{}, fmt.Errorf("read the webhook's certificate authority: %w", err)
	}
	authorities, err := certutil.ParseCertsPEM(bundle)
	if err != nil {
		return issued{}, fmt.Errorf("read the webhook's certificate authority from %s: %w", filepath.Join(path, bundleKey), err)
	}
	return issued{serving: &serving, authorities: authorities}, nil
}

// matches says whether the authorities are those of the certificate.
func (i issued) matches() bool {
	if len(i.authorities) == 0 {
		return true
	}
	options := x509.VerifyOptions{
		Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: i.serving.Leaf.NotBefore, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}
	for _, authority := range i.authorities {
		options.Roots.AddCert(authority)
		options.CurrentTime = latest(options.CurrentTime, authority.NotBefore)
	}
	for _, der := range i.serving.Certificate[1:] {
		if link, err := x509.ParseCertificate(der); err == nil {
			options.Intermediates.AddCert(link)
		}
	}
	_, err := i.serving.Leaf.Verify(options)
	return err == nil
}

// run follows the files and the configurations until the context ends.
func (d *directory) run(ctx context.Context) error {
	poke := make(chan struct{}, 1)
	if err := d.hooks.watch(ctx, d.log, poke); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		d.look(ctx, poke)
		return nil
	})
	group.Go(func() error {
		follow(ctx, d.log, poke, d.sync)
		return nil
	})
	return group.Wait()
}

// look pokes when the files have changed.
func (d *directory) look(ctx context.Context, poke chan<- struct{}) {
	told := ""
	for {
		sleepUntil(ctx, lookEvery, nil)
		if ctx.Err() != nil {
			return
		}
		changed, err := d.load()
		if err != nil && err.Error() != told {
			d.log.Error(err, "the webhook's certificate stays as it is")
			told = err.Error()
		}
		if changed {
			told = ""
			select {
			case poke <- struct{}{}:
			default:
			}
		}
	}
}

// load takes what is in the files, if that belongs together. Where it never did, nothing is asked of it.
func (d *directory) load() (changed bool, err error) {
	old := d.files.Load()
	files, err := readIssued(d.path)
	if err != nil {
		return false, err
	}
	if files.equal(*old) {
		return false, nil
	}
	if old.matches() && !files.matches() {
		return false, fmt.Errorf("the authorities in %s are not those of the certificate beside it", filepath.Join(d.path, bundleKey))
	}
	d.files.Store(&files)
	return true, nil
}

// sync does what is to be done now and says when there is something again.
func (d *directory) sync(ctx context.Context, at time.Time) (wake time.Time, err error) {
	if err := d.hooks.read(ctx); err != nil {
		return time.Time{}, err
	}
	before := d.handover.now.serving
	authorities, wake := d.handover.step(*d.files.Load(), d.hooks.trusted(), at)
	bundle, err := encode(authorities)
	if err != nil {
		return time.Time{}, err
	}
	serving := d.handover.now.serving
	if before != nil && before != serving {
		d.log.Info("serving another certificate from the directory", "directory", d.path, "serial", serving.Leaf.SerialNumber.String())
	}
	pending := d.hooks.announce(ctx, bundle)
	d.current.Store(&kept{serving: serving, bundle: bundle, pending: pending})
	return wake, pending
}

// encode gives authorities as webhook configurations want them; none: nil.
func encode(authorities []*x509.Certificate) ([]byte, error) {
	if len(authorities) == 0 {
		return nil, nil
	}
	bundle, err := certutil.EncodeCertificates(authorities...)
	if err != nil {
		return nil, fmt.Errorf("encode the certificate authorities: %w", err)
	}
	return bundle, nil
}

// certificate implements certificates.
func (d *directory) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return d.current.Load().serving, nil
}

// ready implements certificates.
func (d *directory) ready() error { return d.current.Load().pending }

// bundle implements certificates.
func (d *directory) bundle() []byte { return d.current.Load().bundle }
