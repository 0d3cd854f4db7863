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

// keeper creates, stores, rotates and announces the certificates and the secret path. Every replica runs a keeper; the
// Secret's content coordinates them. With a directory the keeper creates no certificates and announces the directory's
// authorities. It writes the Secret and the configurations with their resourceVersion as a precondition, and reads the
// configurations before the Secret. So a configuration is always written from a Secret that is at least as new.
type keeper struct {
	secrets  coreclient.SecretInterface
	secret   types.NamespacedName
	hooks    *registration.Hooks
	rotation credential.Rotation
	paths    credential.PathRotation
	// directory has the certificates of an external issuer. nil means that the keeper issues them.
	directory *credential.Directory
	// policies keeps Flyball's admission policies. nil means that a chart does.
	policies *registration.PolicyKeeper
	log      logr.Logger

	current atomic.Pointer[kept]
	// authority is the newest authority trusted by all configurations, as known to this replica since the time since.
	// token and led are the same for the newest path.
	authority *x509.Certificate
	since     time.Time
	token     string
	led       time.Time
}

// kept is the served state.
type kept struct {
	serving *tls.Certificate
	reach   registration.Reach
	// tokens are the valid secret paths.
	tokens []string
	// pending is the reason why API servers may not trust the certificate yet.
	pending error
}

// run maintains the certificates until the context ends.
func (k *keeper) run(ctx context.Context) error {
	notify := make(chan struct{}, 1)
	if err := k.watch(ctx, notify); err != nil {
		return err
	}
	if k.directory != nil {
		go k.directory.Look(ctx, notify)
	}
	follow(ctx, k.log, notify, k.sync)
	return nil
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
	secret, err := k.read(ctx)
	if err != nil {
		return time.Time{}, err
	}
	held, err := credential.ReadPaths(secret.Data[credential.PathsKey])
	if err != nil {
		k.log.Error(err, "Failed to read the paths of the Secret; creating a new path", "secret", k.secret.String())
	}
	paths, err := k.paths.Next(held, now, k.leading(held, now))
	if err != nil {
		return time.Time{}, err
	}
	certs, err := k.certificates(secret, now)
	if err != nil {
		return time.Time{}, err
	}
	if paths.Changed || certs.data != nil {
		if err := k.write(ctx, secret, certs.data, paths.Held); err != nil {
			return time.Time{}, err
		}
		if certs.data != nil {
			k.log.Info("Rotated the webhook's certificates", "secret", k.secret.String(), "did", strings.Join(certs.did, "; "))
		}
	}
	next := &kept{serving: certs.serving, tokens: credential.Tokens(paths.Held), reach: registration.Reach{Bundle: certs.bundle, Token: k.paths.Current(paths.Held, now)}}
	k.serve(next)
	next.pending = k.hooks.Announce(ctx, next.reach)
	if k.policies != nil {
		next.pending = errors.Join(next.pending, k.policies.Keep(ctx))
	}
	k.current.Store(next)
	k.leading(paths.Held, now) // the state from now on
	return credential.Earliest(paths.Wake, certs.wake(now)), next.pending
}

// serve accepts new paths before API servers use them.
func (k *keeper) serve(next *kept) {
	early := *next
	early.pending = errNotAnnounced
	if old := k.current.Load(); old != nil {
		early.pending = old.pending
	}
	k.current.Store(&early)
}

// certificates are the certificates to serve now.
type certificates struct {
	serving *tls.Certificate
	bundle  []byte
	// data has the changed keys of the Secret, or is nil. did describes the changes.
	data map[string][]byte
	did  []string
	// wake returns the time of the next step. Its argument is the time since which the authority is announced.
	wake func(now time.Time) time.Time
}

// certificates returns the certificates of the directory, or of the Secret after a step of their rotation.
func (k *keeper) certificates(secret *corev1.Secret, now time.Time) (certificates, error) {
	if k.directory != nil {
		files := k.directory.Now()
		return certificates{serving: files.Serving, bundle: files.Bundle, wake: func(now time.Time) time.Time { return now.Add(maxSleep) }}, nil
	}
	m, err := credential.ReadMaterial(secret.Data)
	if err != nil {
		k.log.Error(err, "Failed to read the certificates of the Secret; creating new certificates", "secret", k.secret.String())
	}
	next, err := k.rotation.Next(m, now, k.announced(m, now))
	if err != nil {
		return certificates{}, err
	}
	bundle, err := next.Material.Bundle()
	if err != nil {
		return certificates{}, err
	}
	h := certificates{serving: next.Material.Serving, bundle: bundle, did: next.Did}
	h.wake = func(now time.Time) time.Time {
		return k.rotation.Wake(next.Material, now, k.announced(next.Material, now))
	}
	if next.Changed {
		h.data, err = next.Material.Data()
	}
	return h, err
}

// leading returns when this replica learnt that all configurations use the newest path, or zero if not all do.
func (k *keeper) leading(held []credential.Path, now time.Time) time.Time {
	if len(held) == 0 || !k.hooks.Lead(held[0].Token) {
		k.token, k.led = "", time.Time{}
		return time.Time{}
	}
	if k.token != held[0].Token {
		k.token, k.led = held[0].Token, now
	}
	return k.led
}

// announced returns when this replica learnt that all configurations trust the newest authority, or zero if not all do.
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
		empty := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.secret.Namespace, Name: k.secret.Name}, Type: corev1.SecretTypeTLS}
		if k.directory != nil {
			empty.Type = corev1.SecretTypeOpaque
		}
		return empty, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the Secret %s: %w", k.secret, err)
	}
	return secret, nil
}

// write stores the paths, and new certificates if any, unless the Secret was written since it was read.
func (k *keeper) write(ctx context.Context, secret *corev1.Secret, certs map[string][]byte, held []credential.Path) (err error) {
	secret = secret.DeepCopy()
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, certs)
	secret.Data[credential.PathsKey] = credential.PathsText(held)
	if secret.ResourceVersion == "" {
		_, err = k.secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: registration.FieldManager})
	} else {
		_, err = k.secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: registration.FieldManager})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("store the certificates in the Secret %s: %w", k.secret, registration.ErrConflict)
	}
	if err != nil {
		return fmt.Errorf("store the certificates in the Secret %s: %w", k.secret, err)
	}
	return nil
}

// watch notifies when the Secret or a configuration changes.
func (k *keeper) watch(ctx context.Context, notify chan<- struct{}) error {
	if err := registration.WatchNamed(ctx, k.secrets, k.secret.Name, &corev1.Secret{}, k.log, notify); err != nil {
		return fmt.Errorf("watch the Secret %s: %w", k.secret, err)
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
		return k.directory.Now().Serving, nil
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
		return errNotAnnounced
	}
	return now.pending
}

// reach returns the data for API servers to reach the server. It is empty at first.
func (k *keeper) reach() registration.Reach {
	if now := k.current.Load(); now != nil {
		return now.reach
	}
	return registration.Reach{}
}

// tokens returns the valid secret paths.
func (k *keeper) tokens() []string {
	if now := k.current.Load(); now != nil {
		return now.tokens
	}
	return nil
}
