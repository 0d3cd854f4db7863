// Package hooks has the work of the jobs that run beside the manager. Uninstall lets the manager restore all targets
// before the chart is removed. Install applies the adapters of install.yaml. Each prints the adapters or policies that
// it waits for, and fails if the work is not done in time.
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

// interval is the time between two checks of the remaining work.
const interval = time.Second

// await repeats a step until it returns no remaining work. It reports the remaining work whenever it changes. If the
// context ends before, the error names the remaining work.
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
