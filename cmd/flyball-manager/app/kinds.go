package app

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy/trigger"
	"flyball.dev/flyball/engine/reconcile"
)

// kindsOf tells what is known of a kind by the Adapter objects that there are: admission is served on every replica, also
// on those that watch no targets. What cannot be read is not known, and then not checked here.
func kindsOf(adapters client.Reader) func(schema.GroupKind) (trigger.Kind, bool) {
	return func(gk schema.GroupKind) (trigger.Kind, bool) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		var all v1alpha1.AdapterList
		if err := adapters.List(ctx, &all); err != nil {
			return trigger.Kind{}, false
		}
		for i := range all.Items {
			a := &all.Items[i]
			if a.Spec.Target.Group != gk.Group || a.Spec.Target.Kind != gk.Kind {
				continue
			}
			if compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{}); len(errs) == 0 {
				return reconcile.TriggerKind(compiled), true
			}
		}
		return trigger.Kind{}, false
	}
}
