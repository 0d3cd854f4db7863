package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"flyball.dev/flyball/engine/admit/credential"
	"flyball.dev/flyball/engine/admit/registration"
)

// maxSleep is the maximum time between two reads of the Secret and the configurations, in case a watch is refused.
const maxSleep = 10 * time.Minute

// pace is the minimum time between two reads.
const pace = 100 * time.Millisecond

// quietConflicts is the normal number of conflicts in a row with other replicas. More are logged as an error.
const quietConflicts = 3

// bundleRead is the interval of reading the authorities of a directory.
const bundleRead = 30 * time.Second

// keeper creates, stores, rotates and announces the certificates. Every replica runs a keeper; the Secret's content
// coordinates them. With a directory the keeper creates no certificates and announces the directory's authorities. It
// writes the Secret and the configurations with their resourceVersion as a precondition, and reads the configurations
// before the Secret. So a configuration is always written from a Secret that is at least as new.
type keeper struct {
	secrets  coreclient.SecretInterface
	secret   types.NamespacedName
	hooks    *registration.Hooks
	rotation credential.Rotation
	// directory has the certificates of an external issuer. nil means the keeper issues them.
	directory *credential.Directory
	// policies keeps Flyball's admission policies. nil means a chart does.
	policies *registration.PolicyKeeper
	log      logr.Logger

	current atomic.Pointer[kept]
	// failure is the reason why there is no certificate yet, for readiness.
	failure atomic.Pointer[error]
	// authority is the newest authority trusted by all configurations. since is the time when this replica first saw all
	// of them trust it.
	authority *x509.Certificate
	since     time.Time
}

// kept is the served state.
type kept struct {
	serving *tls.Certificate
	bundle  []byte
	// material is the content of the Secret. It is nil with a directory.
	material *credential.Material
	// pending is the reason why API servers may not trust the certificate yet.
	pending error
}

// run maintains the certificates until the context ends.
func (k *keeper) run(ctx context.Context) error {
	notify := make(chan struct{}, 1)
	if err := k.watch(ctx, notify); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if k.directory != nil {
		group.Go(func() error { return k.directory.Watch(ctx, notify) })
	}
	group.Go(func() error {
		follow(ctx, k.log, notify, k.sync)
		return nil
	})
	return group.Wait()
}

// follow calls sync at the times that sync returns and at every notification, but at most once per pace, so that two
// replicas with different content do not overload the API server. It returns when the context ends.
func follow(ctx context.Context, log logr.Logger, notify <-chan struct{}, sync func(context.Context, time.Time) (time.Time, error)) {
	retry, failures := retryBackoff(), 0
	for ctx.Err() == nil {
		begin := time.Now()
		wake, err := sync(ctx, begin)
		sleep := min(max(time.Until(wake), 0), maxSleep)
		failures++
		switch {
		case err == nil:
			retry, failures = retryBackoff(), 0
		case errors.Is(err, registration.ErrConflict) && failures <= quietConflicts:
			sleep = retry.Step()
			log.V(1).Info("Failed to keep the webhook's certificates because another replica wrote first; will retry", "reason", err.Error())
		case ctx.Err() == nil:
			sleep = retry.Step()
			log.Error(err, "Failed to keep the webhook's certificates; will retry", "after", sleep.String())
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

// sync does the due steps and returns the time of the next one.
func (k *keeper) sync(ctx context.Context, now time.Time) (wake time.Time, err error) {
	if err := k.hooks.Read(ctx); err != nil {
		return time.Time{}, err
	}
	next, wake, err := k.step(ctx, now)
	if err != nil {
		k.failure.Store(&err)
		return time.Time{}, err
	}
	k.serve(*next)
	next.pending = k.hooks.Announce(ctx, next.bundle)
	if k.policies != nil {
		next.pending = errors.Join(next.pending, k.policies.Keep(ctx))
	}
	k.current.Store(next)
	if next.material != nil {
		wake = k.rotation.Wake(*next.material, now, k.announced(*next.material, now)) // based on the configurations after Announce
	}
	return wake, next.pending
}

// serve makes the server use the next certificate. It is called before Announce, because after Announce API servers
// may trust only this certificate's authority.
func (k *keeper) serve(next kept) {
	next.pending = errNotAnnounced
	if old := k.current.Load(); old != nil {
		next.pending = old.pending
	}
	k.current.Store(&next)
}

// step returns the state to serve now. With a directory it has the directory's certificate. Otherwise step does a step of
// the rotation, and the state has the certificate of the Secret. wake is the time of the next step.
func (k *keeper) step(ctx context.Context, now time.Time) (next *kept, wake time.Time, err error) {
	if k.directory != nil {
		serving, err := k.directory.Serving()
		if err != nil {
			return nil, time.Time{}, err
		}
		bundle, err := k.directory.Bundle()
		return &kept{serving: serving, bundle: bundle}, now.Add(bundleRead), err
	}
	secret, err := k.read(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	m, err := credential.ReadMaterial(secret.Data)
	if err != nil {
		k.log.Error(err, "Failed to read the certificates of the Secret; creating new certificates", "secret", k.secret.String())
	}
	step, err := k.rotation.Next(m, now, k.announced(m, now))
	if err != nil {
		return nil, time.Time{}, err
	}
	bundle, err := step.Material.Bundle()
	if err != nil {
		return nil, time.Time{}, err
	}
	if step.Changed {
		if err := k.write(ctx, secret, step.Material); err != nil {
			return nil, time.Time{}, err
		}
		k.log.Info("Rotated the webhook's certificates", "secret", k.secret.String(), "did", strings.Join(step.Did, "; "))
	}
	return &kept{serving: step.Material.Current.Serving, bundle: bundle, material: &step.Material}, step.Wake, nil
}

// announced returns the time when this replica learnt that all configurations trust the newest authority. It returns
// zero if one of them does not.
func (k *keeper) announced(m credential.Material, now time.Time) time.Time {
	if len(m.Trusted) == 0 || !k.hooks.Trust(m.Trusted[0]) {
		k.authority, k.since = nil, time.Time{}
		return time.Time{}
	}
	if newest := m.Trusted[0]; k.authority == nil || !k.authority.Equal(newest) {
		k.authority, k.since = newest, now
	}
	return k.since
}

// read returns the Secret. A missing Secret is returned empty.
func (k *keeper) read(ctx context.Context) (*corev1.Secret, error) {
	secret, err := k.secrets.Get(ctx, k.secret.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.secret.Namespace, Name: k.secret.Name}, Type: corev1.SecretTypeTLS}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the Secret %s: %w", k.secret, err)
	}
	return secret, nil
}

// write stores certificates, unless the Secret was written since it was read.
func (k *keeper) write(ctx context.Context, secret *corev1.Secret, m credential.Material) error {
	secret = secret.DeepCopy()
	data, err := m.Data()
	if err != nil {
		return err
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, data)
	maps.DeleteFunc(secret.Data, func(_ string, value []byte) bool { return len(value) == 0 })
	if secret.ResourceVersion == "" {
		_, err = k.secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: registration.FieldManager})
	} else {
		_, err = k.secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: registration.FieldManager})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("store the certificates in the Secret %s: %w", k.secret, registration.ErrConflict)
	}
	if apierrors.IsForbidden(err) && secret.ResourceVersion == "" {
		return fmt.Errorf("the Secret %s is missing, and the manager may not create it; repeat helm upgrade or kubectl apply, which makes "+
			"it empty: %w", k.secret, err)
	}
	if err != nil {
		return fmt.Errorf("store the certificates in the Secret %s: %w", k.secret, err)
	}
	return nil
}

// watch notifies when the Secret, an admission policy or a configuration changes.
func (k *keeper) watch(ctx context.Context, notify chan<- struct{}) error {
	if k.directory == nil {
		if err := registration.WatchNamed(ctx, k.secrets, k.secret.Name, &corev1.Secret{}, k.log, notify); err != nil {
			return fmt.Errorf("watch the Secret %s: %w", k.secret, err)
		}
	}
	if k.policies != nil {
		if err := k.policies.Watch(ctx, k.log, notify); err != nil {
			return fmt.Errorf("watch the admission policies: %w", err)
		}
	}
	return k.hooks.Watch(ctx, k.log, notify)
}

// errNotAnnounced is the reason why a new server is not ready.
var errNotAnnounced = errors.New("it was not announced yet")

// certificate returns the certificate to serve now.
func (k *keeper) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if k.directory != nil {
		return k.directory.Serving()
	}
	now := k.current.Load()
	if now == nil {
		return nil, fmt.Errorf("the Secret %s has no certificate yet", k.secret)
	}
	return now.serving, nil
}

// ready returns the reason why API servers may not reach the server yet.
func (k *keeper) ready() error {
	now := k.current.Load()
	if now == nil {
		if failure := k.failure.Load(); failure != nil {
			return *failure
		}
		return errNotAnnounced
	}
	return now.pending
}

// bundle returns the trusted authorities, or nil before the first certificate.
func (k *keeper) bundle() []byte {
	if now := k.current.Load(); now != nil {
		return now.bundle
	}
	return nil
}
