package reconcile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"flyball.dev/flyball/engine/admit"
	"flyball.dev/flyball/engine/policy/freeze"
)

// hookRecheck is how often the configuration of freezes is looked at although nothing is known to have changed.
const hookRecheck = 15 * time.Second

// FreezeHook keeps the webhook configuration of freezes in step with the policies, on every replica.
type FreezeHook struct {
	Freezes *Freezes
	Hook    admit.FreezeHook
	// Server is where API servers are sent.
	Server HookServer
	// Scope is what the configuration covers besides its rules; Namespaces is filled in here.
	Scope admit.FreezeScope
	// KeepBundle leaves the authorities of a configuration that exists to the server's own rotation.
	KeepBundle bool
	// Owner finds what the configuration goes with; nil: nothing.
	Owner func(ctx context.Context) (*metav1.OwnerReference, error)
	Log   logr.Logger
}

// HookServer is an admission server as a configuration needs it.
type HookServer interface {
	// Client is how a configuration reaches a path of the server.
	Client(path string) admissionregistrationv1.WebhookClientConfig
	// CABundle is empty until there is a certificate.
	CABundle() []byte
}

// NeedLeaderElection says that every replica keeps it: a freeze is enforced although the leader has just gone.
func (h *FreezeHook) NeedLeaderElection() bool { return false }

// Start keeps the configuration until the context ends. It stays then: frozen kinds refuse while no replica runs.
func (h *FreezeHook) Start(ctx context.Context) error {
	changed := h.Freezes.Listen()
	select {
	case <-ctx.Done():
		return nil
	case <-h.Freezes.ready:
	}
	for ctx.Err() == nil {
		pause := hookRecheck
		if err := h.keep(ctx); err != nil && ctx.Err() == nil {
			h.Log.V(1).Info("the webhook configuration of freezes will be written again", "reason", err.Error())
			pause = 250 * time.Millisecond
		}
		h.Freezes.wait(ctx, pause, h.Freezes.Set().NextEnd(h.Freezes.opts.Clock.Now()), changed)
	}
	return nil
}

func (h *FreezeHook) keep(ctx context.Context) error {
	rules := h.Freezes.inUse(h.Freezes.opts.Clock.Now())
	if len(rules) == 0 {
		wrote, err := h.Hook.Keep(ctx, nil, false)
		if wrote {
			h.Log.Info("no freeze policy is left: removed the webhook configuration of freezes")
		}
		return err
	}
	if len(h.Server.CABundle()) == 0 {
		return fmt.Errorf("keep the webhook configuration of freezes: the server has no certificate yet")
	}
	scope := h.Scope
	scope.Namespaces = h.Freezes.byNamespaceLabels()
	if h.Owner != nil {
		owner, err := h.Owner(ctx)
		if err != nil {
			return err
		}
		scope.Owner = owner
	}
	wrote, err := h.Hook.Keep(ctx, admit.FreezeConfiguration(h.Server.Client(admit.JudgePath), rules, scope), h.KeepBundle)
	if wrote {
		h.Log.Info("the webhook configuration of freezes follows the policies", "kinds", len(rules))
	}
	return err
}

// inUse lists the kinds on which some policy denies something, now or later, with what.
func (f *Freezes) inUse(now time.Time) []admit.FreezeRule {
	set := f.set.Load()
	if rules, _ := set.Len(); rules == 0 {
		return nil
	}
	var list []admit.FreezeRule
	for resource, k := range *f.adapters.Load() {
		gk := k.adapter.GroupKind()
		actions := set.InUse(gk, false, now)
		if k.absent || actions == 0 {
			continue
		}
		if f.opts.Scope.ClusterScoped != nil && f.opts.Scope.ClusterScoped(gk) {
			if actions = set.InUse(gk, true, now); actions == 0 {
				continue
			}
		}
		list = append(list, admit.FreezeRule{
			Group: resource.Group, Resource: resource.Resource, Versions: k.adapter.Versions(), Subresources: k.adapter.Subresources(), Actions: actions,
		})
	}
	return list
}

// byNamespaceLabels says whether some enforced policy, or some exception, selects namespaces by their labels.
func (f *Freezes) byNamespaceLabels() bool {
	now, set := f.opts.Clock.Now(), f.set.Load()
	return slices.ContainsFunc(set.Rules(), func(r *freeze.Rule) bool { return !r.Over(now) && r.ByNamespaceLabels() }) ||
		slices.ContainsFunc(set.Exceptions(), func(e *freeze.Exception) bool { return e.ByNamespaceLabels(now) })
}

// Metadata reads the metadata of objects from the API server, for what a review does not carry. It lists by name, which needs
// no right that Flyball does not hold anyway.
type Metadata struct{ Client metadata.Interface }

// Metadata implements admit.Objects.
func (m Metadata) Metadata(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
	list, err := m.Client.Resource(resource).Namespace(namespace).List(ctx, only)
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, apierrors.NewNotFound(resource.GroupResource(), name)
	}
	return &list.Items[0], nil
}

// OwnerOf finds an object outside namespaces that the webhook configuration is to go with, as it is now: one that was made anew
// has another UID, and the garbage collector would take the configuration for the old one's.
func OwnerOf(m Metadata, resource schema.GroupVersionResource, kind, name string) func(context.Context) (*metav1.OwnerReference, error) {
	return func(ctx context.Context) (*metav1.OwnerReference, error) {
		object, err := m.Metadata(ctx, resource, "", name)
		if err != nil {
			return nil, fmt.Errorf("find what the webhook configuration of freezes goes with: %w", err)
		}
		return &metav1.OwnerReference{APIVersion: resource.GroupVersion().String(), Kind: kind, Name: name, UID: object.UID}, nil
	}
}

var _ admit.Freezes = (*Freezes)(nil)
