package hooks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Adopt waits until no Adapter is being deleted any more and each Adapter of the installation exists. It changes
// nothing: the manager restores the changes made through the old adapters, lets these adapters go and creates them
// again.
func Adopt(ctx context.Context, config *rest.Config, adapters []string, say func(line string)) error {
	err := await(ctx, config, say, func(ctx context.Context, c client.Client) (string, error) {
		var list v1alpha1.AdapterList
		if err := c.List(ctx, &list); err != nil {
			return "", fmt.Errorf("list adapters: %w", err)
		}
		return unsettled(list.Items, adapters), nil
	})
	if err == nil {
		say("no adapter is being deleted, and those of the installation are there")
	}
	return err
}

// unsettled returns the adapters that are being deleted, and the named adapters that do not exist, as text. Empty:
// there are no such adapters.
func unsettled(found []v1alpha1.Adapter, names []string) string {
	var waits []string
	for i := range found {
		if a := &found[i]; !a.DeletionTimestamp.IsZero() {
			waits = append(waits, a.Name+": "+reason(a))
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(found, func(a v1alpha1.Adapter) bool { return a.Name == name }) {
			waits = append(waits, name+": it is gone, and the manager has not made it again yet")
		}
	}
	return strings.Join(waits, "; ")
}
