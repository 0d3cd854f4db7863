package notifications

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"flyball.dev/flyball/crds/v1alpha1"
)

// byAge compares Notifications by creation, and then by name.
func byAge(a, b client.Object) int {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
}

// ofNamespace returns the Notifications of a namespace. They belong to the cache, so nobody may change them.
func (c *Controller) ofNamespace(ctx context.Context, namespace string) ([]v1alpha1.Notification, error) {
	var list v1alpha1.NotificationList
	if err := c.Client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the Notifications of the namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}

// isExcess reports whether as many older Notifications as may send messages are in the namespace of a Notification.
func (c *Controller) isExcess(ctx context.Context, n client.Object) (bool, error) {
	if n.GetNamespace() == "" {
		return false, nil
	}
	all, err := c.ofNamespace(ctx, n.GetNamespace())
	older := 0
	for i := range all {
		if all[i].Name != n.GetName() && byAge(&all[i], n) < 0 {
			older++
		}
	}
	return older >= c.PerNamespace, err
}

func (c *Controller) tooMany(namespace string) string {
	return fmt.Sprintf("the namespace %s has more than %d Notifications, and only the oldest %d send messages: delete another, or raise the "+
		"chart's value notifications.perNamespace", namespace, c.PerNamespace, c.PerNamespace)
}

// Admit returns an error if a new Notification would send no messages, because its namespace has too many.
func (c *Controller) Admit(ctx context.Context, n *v1alpha1.Notification) error {
	if !c.Enabled {
		return nil
	}
	excess, err := c.isExcess(ctx, n)
	if err == nil && excess {
		err = apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("notifications").GroupResource(), n.Name,
			fmt.Errorf("%s", c.tooMany(n.Namespace)))
	}
	return err
}

// displaced returns the Notifications of a namespace whose mailboxes have to be opened or closed, because one was created or deleted.
func (c *Controller) displaced(ctx context.Context, of client.Object) (out []reconcile.Request) {
	all, err := c.ofNamespace(ctx, of.GetNamespace())
	if err != nil {
		return nil // a cache answers always
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b v1alpha1.Notification) int { return byAge(&a, &b) })
	for i := range all {
		key := client.ObjectKeyFromObject(&all[i])
		if sends := i < c.PerNamespace; sends != c.isOpen(boxKey(key)) {
			out = append(out, reconcile.Request{NamespacedName: key})
		}
	}
	return out
}
