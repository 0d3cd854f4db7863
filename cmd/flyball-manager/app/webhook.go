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
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/policy/target"
	"flyball.dev/flyball/engine/policy/trigger"
	"flyball.dev/flyball/engine/policy/when"
	"flyball.dev/flyball/engine/reconcile"
)

// configurationName is the ValidatingWebhookConfiguration of Flyball's own kinds: the chart's, or the one that a manager
// outside the cluster makes for itself.
const configurationName = "flyball"

// addWebhook serves admission requests on every replica. It gives the server; nil if there is none.
func addWebhook(mgr ctrl.Manager, config *rest.Config, opts Options, scope target.Scope, freezes *reconcile.Freezes) (*admit.Server, error) {
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
	judging, err := newJudging(mgr, config, opts, scope, freezes, clientset)
	if err != nil {
		return nil, err
	}
	o := admit.Options{
		Host: opts.Webhook.Host, Port: opts.Webhook.Port,
		CertDir:  opts.Webhook.CertDir,
		ClientCA: opts.Webhook.ClientCA, ClientNames: opts.Webhook.ClientNames,
		Drain:  opts.Webhook.Drain,
		Secret: types.NamespacedName{Namespace: opts.Namespace, Name: opts.Webhook.Secret},
		Kinds:  judging.guard(ownKinds(scope, kindsOf(mgr.GetClient()), admit.Adapters{Resources: inspector, Reviews: clientset.AuthorizationV1().SubjectAccessReviews()})),
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

// ownKinds lists Flyball's own kinds with what checks them where schema and CEL cannot.
func ownKinds(scope target.Scope, kinds func(schema.GroupKind) (trigger.Kind, bool), adapters admit.Adapters) []admit.Kind {
	triggers := trigger.Context{Scope: scope, Kinds: kinds}
	ctx := schedule.Context{Scope: scope}
	return []admit.Kind{
		{Kind: "Adapter", Resource: "adapters", Validator: adapters},
		{Kind: "Calendar", Resource: "calendars", Validator: check(func(c *v1alpha1.Calendar) field.ErrorList {
			_, errs := when.Calendar(c.Name, c.Spec, field.NewPath("spec"))
			return errs
		})},
		{Kind: schedule.Kind, Resource: "schedules", Validator: check(func(s *v1alpha1.Schedule) field.ErrorList {
			_, errs := schedule.Compile(s, ctx)
			return errs
		})},
		{Kind: schedule.ClusterKind, Resource: "clusterschedules", Validator: check(func(s *v1alpha1.ClusterSchedule) field.ErrorList {
			_, errs := schedule.CompileCluster(s, ctx)
			return errs
		})},
		{Kind: trigger.KindName, Resource: "triggers", Validator: check(func(t *v1alpha1.Trigger) field.ErrorList {
			_, errs := trigger.Compile(t, triggers)
			return errs
		})},
		{Kind: trigger.ClusterKindName, Resource: "clustertriggers", Validator: check(func(t *v1alpha1.ClusterTrigger) field.ErrorList {
			_, errs := trigger.CompileCluster(t, triggers)
			return errs
		})},
	}
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
