package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	freezecontroller "flyball.dev/flyball/engine/controller/freeze"
)

// leaseName is that of the leader's lease.
const leaseName = "flyball-manager"

// belongings are what the manager makes in its own namespace. They are to go with an uninstallation, which knows nothing of them: the
// garbage collector takes them with their owner.
type belongings struct {
	clients   kubernetes.Interface
	namespace string
	// lease and secret are their names; empty: the manager makes none.
	lease, secret string
	owner         func(context.Context) (*metav1.OwnerReference, error)
	log           logr.Logger
}

// addBelongings has the leader name the ClusterRole of the installation as the owner of what the manager makes. Without one there is no
// installation that could go.
func addBelongings(mgr ctrl.Manager, config *rest.Config, opts Options) error {
	if opts.Webhook.Owner == "" {
		return nil
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("set up the owner of the lease: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("set up the owner of the lease: %w", err)
	}
	b := &belongings{clients: clients, namespace: opts.Namespace, log: opts.Log.WithName("belongings"),
		owner: freezecontroller.OwnerOf(freezecontroller.Metadata{Client: objects},
			schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}, "ClusterRole", opts.Webhook.Owner)}
	if opts.LeaderElection {
		b.lease = leaseName
	}
	if opts.Webhook.Enabled {
		b.secret = opts.Webhook.Secret
	}
	return mgr.Add(b)
}

// Start looks until everything is owned, and every ten minutes after that: what somebody has deleted was made anew.
func (b *belongings) Start(ctx context.Context) error {
	for {
		pause := 10 * time.Minute
		if err := b.own(ctx); err != nil && ctx.Err() == nil {
			b.log.V(1).Info("what the installation goes with will be written again", "reason", err.Error())
			pause = time.Second
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// own names the owner in what does not name it yet.
func (b *belongings) own(ctx context.Context) error {
	owner, err := b.owner(ctx)
	if err != nil {
		return err
	}
	return errors.Join(b.ownLease(ctx, owner), b.ownSecret(ctx, owner))
}

func (b *belongings) ownLease(ctx context.Context, owner *metav1.OwnerReference) error {
	if b.lease == "" {
		return nil
	}
	leases := b.clients.CoordinationV1().Leases(b.namespace)
	lease, err := leases.Get(ctx, b.lease, metav1.GetOptions{})
	if err != nil || !addOwner(&lease.ObjectMeta, owner) {
		return err
	}
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

func (b *belongings) ownSecret(ctx context.Context, owner *metav1.OwnerReference) error {
	if b.secret == "" {
		return nil
	}
	secrets := b.clients.CoreV1().Secrets(b.namespace)
	secret, err := secrets.Get(ctx, b.secret, metav1.GetOptions{})
	if err != nil || !addOwner(&secret.ObjectMeta, owner) {
		return err
	}
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

// addOwner adds an owner in place, instead of one of the same name that was made before it. It is false where nothing has changed.
func addOwner(of *metav1.ObjectMeta, owner *metav1.OwnerReference) bool {
	if slices.ContainsFunc(of.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner.UID }) {
		return false
	}
	of.OwnerReferences = append(slices.DeleteFunc(of.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.Kind == owner.Kind && r.Name == owner.Name
	}), *owner)
	return true
}
