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

// leaseName is the name of the leader's lease.
const leaseName = "flyball-manager"

// belongings are the lease and the Secret that the manager creates in its own namespace. Uninstalling Flyball does not
// delete them, so they get the installation's ClusterRole as owner and the garbage collector removes them with it.
type belongings struct {
	clients   kubernetes.Interface
	namespace string
	// lease and secret are the names of the objects. An empty name means that the manager does not create the object.
	lease, secret string
	owner         func(context.Context) (*metav1.OwnerReference, error)
	log           logr.Logger
}

// addBelongings makes the leader set the ClusterRole of the installation as owner of the lease and the Secret. Without
// that ClusterRole it does nothing.
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

// Start sets the owner, with a retry each second until it succeeds, and then again every ten minutes, because deleted
// objects are recreated without an owner.
func (b *belongings) Start(ctx context.Context) error {
	for {
		pause := 10 * time.Minute
		if err := b.own(ctx); err != nil && ctx.Err() == nil {
			b.log.V(1).Info("Failed to set the owner of the manager's lease and Secret; will retry", "reason", err.Error())
			pause = time.Second
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// own sets the owner of the lease and of the Secret.
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

// addOwner adds an owner reference and removes an older reference of the same kind and name. It returns false if the
// object already has the reference.
func addOwner(of *metav1.ObjectMeta, owner *metav1.OwnerReference) bool {
	if slices.ContainsFunc(of.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner.UID }) {
		return false
	}
	of.OwnerReferences = append(slices.DeleteFunc(of.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.Kind == owner.Kind && r.Name == owner.Name
	}), *owner)
	return true
}
