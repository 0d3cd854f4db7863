package app

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admit"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/when"
	"flyball.dev/flyball/engine/world"
)

// configurationName is the ValidatingWebhookConfiguration of Flyball's own kinds: the chart's, or the one that a manager
// outside the cluster makes for itself.
const configurationName = "flyball"

// addWebhook serves admission requests on every replica. It gives the server; nil if there is none.
func addWebhook(mgr ctrl.Manager, config *rest.Config, opts Options, w *world.World) (*admit.Server, error) {
	if !opts.Webhook.Enabled {
		return nil, addUnhook(mgr, config, opts)
	}
	inspector, err := inspect.New(config)
	if err != nil {
		return nil, fmt.Errorf("set up the webhook: %w", err)
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the webhook: %w", err)
	}
	judging, err := newJudging(mgr, config, opts, w, clientset)
	if err != nil {
		return nil, err
	}
	o := admit.Options{
		Host: opts.Webhook.Host, Port: opts.Webhook.Port,
		CertDir:  opts.Webhook.CertDir,
		ClientCA: opts.Webhook.ClientCA, ClientNames: opts.Webhook.ClientNames,
		Drain:  opts.Webhook.Drain,
		Secret: types.NamespacedName{Namespace: opts.Namespace, Name: opts.Webhook.Secret},
		Kinds:  judging.guard(ownKinds(w, admit.Adapters{Resources: inspector, Reviews: clientset.AuthorizationV1().SubjectAccessReviews()})),
		Log:    opts.Log.WithName("webhook"),
	}
	if opts.Webhook.URL != "" {
		o.Endpoint.URL = opts.Webhook.URL
		o.OwnConfiguration = configurationName
	} else {
		o.Endpoint.Service = &admissionregistrationv1.ServiceReference{Namespace: opts.Namespace, Name: opts.Webhook.Service}
		if port := opts.Webhook.ServicePort; port != 0 {
			o.Endpoint.Service.Port = &port
		}
		o.Configurations = []string{configurationName}
	}
	o.Configurations = append(o.Configurations, admit.FreezeConfigurationName)
	server, err := admit.New(config, o)
	if err != nil {
		return nil, fmt.Errorf("set up the webhook: %w", err)
	}
	if err := judging.add(mgr, server); err != nil {
		return nil, err
	}
	if err := mgr.AddReadyzCheck("webhook", server.Ready); err != nil {
		return nil, fmt.Errorf("set up the webhook's readiness check: %w", err)
	}
	return server, mgr.Add(server)
}

// ownKinds lists Flyball's own kinds with what checks them where schema and CEL cannot. The guard has its own of freezes.
func ownKinds(w *world.World, adapters admit.Adapters) []admit.Kind {
	ctx := policy.Context{Scope: w.Scope(), Kinds: func(gk schema.GroupKind) (policy.AdaptedKind, bool) { return w.Snapshot().AdaptedKind(gk) }}
	list := []admit.Kind{
		{Kind: "Adapter", Resource: "adapters", Validator: adapters},
		{Kind: "Calendar", Resource: "calendars", Validator: check(func(c *v1alpha1.Calendar) field.ErrorList {
			_, errs := when.Calendar(c.Name, c.Spec, field.NewPath("spec"))
			return errs
		})},
	}
	for _, kind := range kinds.All() {
		if _, guarded := admit.FreezeResources()[kind.Name]; guarded {
			continue
		}
		list = append(list, admit.Kind{Kind: kind.Name, Resource: kind.Resource, Validator: onceLoaded(w, check(func(obj policy.Object) field.ErrorList {
			_, errs := kind.Compile(obj, ctx)
			return errs
		}))})
	}
	return list
}

// onceLoaded has a validator wait until the adapters have been read, which say what a kind accepts. A request that ends before
// is refused.
func onceLoaded(w *world.World, v admit.Validator) admit.Validator {
	return admit.ValidatorFunc(func(ctx context.Context, req admit.Request) ([]string, field.ErrorList, error) {
		select {
		case <-w.Loaded():
			return v.Validate(ctx, req)
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("check %s %s: the adapters have not been read yet", req.Kind, req.Name)
		}
	})
}

// check makes a validator of a pure function over one type.
func check[T runtime.Object](validate func(T) field.ErrorList) admit.Validator {
	return admit.ValidatorFunc(func(_ context.Context, req admit.Request) ([]string, field.ErrorList, error) {
		obj, ok := req.New.(T)
		if !ok {
			return nil, nil, fmt.Errorf("check %s %s: got a %T", req.Kind, req.Name, req.New)
		}
		return nil, validate(obj), nil
	})
}
