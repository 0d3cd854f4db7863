// Package hooks is what the chart has jobs do beside the manager. Uninstall gives everything back before Flyball goes; Adopt waits
// until what an earlier installation has left behind is settled; Install applies the adapters of install.yaml. The first two leave the work
// to the manager. All say what they wait for, and fail rather than to pass over it.
package hooks

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// interval is how often it is looked at what is left.
const interval = time.Second

// await takes a step again and again until nothing is left to wait for, and says what that is whenever it changes. Where the context
// ends before, the error names it.
func await(ctx context.Context, config *rest.Config, say func(string),
	step func(context.Context, client.Client) (left string, err error)) error {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("make the scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make the client: %w", err)
	}
	said := ""
	for {
		left, err := step(ctx, c)
		switch {
		case meta.IsNoMatchError(err):
			say("Adapters are not served here: nothing to do")
			return nil
		case err != nil:
			left = err.Error()
		case left == "":
			return nil
		}
		if left != said {
			said = left
			say("waiting: " + left)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not everything is done: %s: %w", said, context.Cause(ctx))
		case <-time.After(interval):
		}
	}
}

// reason is what the manager says of an adapter that is being deleted.
func reason(a *v1alpha1.Adapter) string {
	c := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Reason != "Restoring" {
		return "the manager has not answered yet"
	}
	return c.Message
}
