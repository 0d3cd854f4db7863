package admit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// directory serves certificates that somebody else makes, such as cert-manager, from the files tls.crt and tls.key, and
// loads them again when they change. Who makes them also sets the caBundle of the configurations; only a configuration
// that this server keeps as a whole gets the ca.crt of the directory.
type directory struct {
	path    string
	watcher *certwatcher.CertWatcher
	hooks   *hooks
	log     logr.Logger
	poke    chan struct{}
	pending atomic.Pointer[error]
}

func newDirectory(path string, h *hooks, log logr.Logger) (*directory, error) {
	watcher, err := certwatcher.New(filepath.Join(path, servingCertKey), filepath.Join(path, servingKeyKey))
	if err != nil {
		return nil, fmt.Errorf("load the webhook's certificate from %s: %w", path, err)
	}
	if h.desired == nil {
		h.names = nil
	}
	d := &directory{path: path, watcher: watcher, hooks: h, log: log, poke: make(chan struct{}, 1)}
	d.pending.Store(new(error))
	watcher.RegisterCallback(func(tls.Certificate) {
		select {
		case d.poke <- struct{}{}:
		default:
		}
	})
	return d, nil
}

// run loads what changes, and keeps the desired configuration, until the context ends.
func (d *directory) run(ctx context.Context) error {
	if err := d.hooks.watch(ctx, d.log, d.poke); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.watcher.Start(ctx) })
	group.Go(func() error {
		d.keep(ctx)
		return nil
	})
	return group.Wait()
}

// keep announces whenever something changed.
func (d *directory) keep(ctx context.Context) {
	retry := retryBackoff()
	for ctx.Err() == nil {
		sleep, err := maxSleep, d.announce(ctx)
		d.pending.Store(&err)
		if err == nil {
			retry = retryBackoff()
		} else if ctx.Err() == nil {
			sleep = retry.Step()
			d.log.Error(err, "cannot keep the webhook's configuration, trying again", "after", sleep.String())
		}
		sleepUntil(ctx, sleep, d.poke)
	}
}

func (d *directory) announce(ctx context.Context) error {
	if d.hooks.desired == nil {
		return nil
	}
	bundle, err := d.authorities()
	if err != nil {
		return err
	}
	if err := d.hooks.read(ctx); err != nil {
		return err
	}
	return d.hooks.announce(ctx, bundle)
}

// authorities reads ca.crt; without it API servers fall back to the authorities of their system.
func (d *directory) authorities() ([]byte, error) {
	bundle, err := os.ReadFile(filepath.Join(d.path, bundleKey))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the webhook's certificate authority: %w", err)
	}
	return bundle, nil
}

// certificate implements certificates.
func (d *directory) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return d.watcher.GetCertificate(hello)
}

// ready implements certificates.
func (d *directory) ready() error { return *d.pending.Load() }

// bundle implements certificates.
func (d *directory) bundle() []byte {
	bundle, err := d.authorities()
	if err != nil {
		d.log.Error(err, "the authority of the webhook's certificate is not known")
	}
	return bundle
}
