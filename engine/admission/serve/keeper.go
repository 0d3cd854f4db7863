package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/admission/register"
)

const (
	// maxSleep is the maximum time between two looks at the certificates, in case a watch is refused. bundleRead is the
	// interval of reading the authorities of a directory.
	maxSleep, bundleRead = 10 * time.Minute, 30 * time.Second
	// pace is the minimum time between two looks, so that two replicas with different content do not overload the API
	// server.
	pace = 100 * time.Millisecond
)

// keeper reads, stores, rotates and announces the certificates. Every replica runs a keeper; the Secret's content
// coordinates them. With a directory the keeper makes no certificates and announces the directory's authorities.
type keeper struct {
	*register.Registrar
	secret   types.NamespacedName
	rotation rotation
	// directory has the certificates of another issuer. nil means the keeper issues them.
	directory *directory
	// wanted returns the objects to keep, with the authorities.
	wanted func(bundle []byte) []client.Object

	current atomic.Pointer[kept]
	// failure is the reason why API servers may not trust the certificate yet. It is nil from the first announcement on.
	failure atomic.Pointer[error]
}

// kept is the served state. The first state has no certificate.
type kept struct {
	serving *tls.Certificate
	bundle  []byte
	// replaced is closed when another bundle is served.
	replaced chan struct{}
}

// errNotAnnounced is the reason why a new server is not ready.
var errNotAnnounced = errors.New("it was not announced yet")

func newKeeper(options Options) (*keeper, error) {
	own := &keeper{Registrar: options.Keeper, secret: options.Secret, wanted: options.wanted}
	own.current.Store(&kept{replaced: make(chan struct{})})
	own.failure.Store(&errNotAnnounced)
	var err error
	if options.CertDir != "" {
		own.directory, err = openDirectory(options.CertDir)
		return own, err
	}
	own.rotation = rotation{life: options.CertificateLifetime, issue: issue}
	own.rotation.hosts, err = options.Endpoint.Hosts()
	return own, err
}

// run maintains the certificates until the context ends.
func (k *keeper) run(ctx context.Context) error {
	notify := make(chan struct{}, 1)
	objects := k.wanted(nil)
	if k.directory == nil {
		objects = append(objects, k.storage())
	}
	if err := k.Watch(ctx, notify, objects...); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if k.directory != nil {
		group.Go(func() error { return k.directory.watch(ctx, notify) })
	}
	group.Go(func() error { k.follow(ctx, notify); return nil })
	return group.Wait()
}

// follow looks at the certificates from time to time and at every notification, until the context ends.
func (k *keeper) follow(ctx context.Context, notify <-chan struct{}) {
	every := min(maxSleep, k.rotation.life/30)
	if k.directory != nil {
		every = bundleRead
	}
	retry := retryBackoff()
	for ctx.Err() == nil {
		begin, sleep := time.Now(), every
		switch err := k.sync(ctx, begin); {
		case err == nil:
			retry = retryBackoff()
		case register.IsConflict(err):
			sleep = retry.Step()
			k.Log.V(1).Info("Failed to keep the webhook's certificates because another replica wrote first; will retry", "reason", err.Error())
		case ctx.Err() == nil:
			sleep = retry.Step()
			k.Log.Error(err, "Failed to keep the webhook's certificates; will retry", "after", sleep.String())
		}
		sleepUntil(ctx, sleep, notify)
		sleepUntil(ctx, time.Until(begin.Add(pace)), nil)
	}
}

func retryBackoff() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 100, Cap: 30 * time.Second}
}

// sleepUntil returns after the duration, when the context ends, or after a notification.
func sleepUntil(ctx context.Context, d time.Duration, notify <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-notify:
	}
}

// sync serves the certificate of an instant and then announces its authorities, because afterwards API servers may trust
// only these.
func (k *keeper) sync(ctx context.Context, now time.Time) error {
	next, err := k.read(ctx, now)
	if err == nil {
		k.serve(next)
		err = k.announce(ctx, next.bundle)
	}
	if err == nil {
		k.failure.Store(nil)
	} else if k.failure.Load() != nil {
		k.failure.Store(&err)
	}
	return err
}

// read returns the certificate to serve now: the directory's, or after a step of the rotation the Secret's.
func (k *keeper) read(ctx context.Context, now time.Time) (next *kept, err error) {
	next = &kept{}
	if k.directory != nil {
		if next.serving, err = k.directory.files.GetCertificate(nil); err == nil {
			next.bundle, err = k.directory.bundle()
		}
		return next, err
	}
	secret, did := k.storage(), []string(nil)
	wrote, err := k.Edit(ctx, secret, func() error {
		m, err := readMaterial(secret.Data)
		if err != nil {
			k.Log.Error(err, "Failed to read the certificates of the Secret; creating new certificates", "secret", k.secret.String())
		}
		if m, did, err = k.rotation.renew(m, now); err != nil {
			return err
		}
		data, err := m.data()
		if err != nil {
			return err
		}
		if secret.ResourceVersion == "" {
			secret.Type = corev1.SecretTypeTLS // the type of an existing Secret, such as the chart's, cannot change
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		maps.Copy(secret.Data, data)
		next.serving, next.bundle = m.current.serving, data[bundleKey]
		return nil
	})
	if apierrors.IsForbidden(err) && secret.ResourceVersion == "" {
		return nil, fmt.Errorf("the Secret %s is missing, and the manager may not create it; repeat helm upgrade or kubectl apply, which makes "+
			"it empty: %w", k.secret, err)
	}
	if wrote {
		k.Log.Info("Rotated the webhook's certificates", "secret", k.secret.String(), "did", strings.Join(did, "; "))
	}
	return next, err
}

// storage returns the Secret without its content.
func (k *keeper) storage() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.secret.Namespace, Name: k.secret.Name}}
}

// serve makes the server use a certificate.
func (k *keeper) serve(next *kept) {
	old := k.current.Load()
	if next.replaced = old.replaced; bytes.Equal(old.bundle, next.bundle) {
		k.current.Store(next)
		return
	}
	next.replaced = make(chan struct{})
	k.current.Store(next)
	close(old.replaced)
}

// announce keeps the server's own objects with the authorities.
func (k *keeper) announce(ctx context.Context, bundle []byte) error {
	var errs []error
	for _, object := range k.wanted(bundle) {
		_, err := k.Keep(ctx, object)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// await waits for a certificate to serve, and reports whether there is one before the context ends.
func (k *keeper) await(ctx context.Context) bool {
	for {
		now := k.current.Load()
		if _, err := k.certificate(nil); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-now.replaced:
		}
	}
}

// certificate returns the certificate to serve now.
func (k *keeper) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if k.directory != nil {
		return k.directory.files.GetCertificate(nil)
	}
	if serving := k.current.Load().serving; serving != nil {
		return serving, nil
	}
	return nil, errNotAnnounced
}

// ready returns the reason why API servers may not trust the certificate yet.
func (k *keeper) ready() error {
	if failure := k.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}
