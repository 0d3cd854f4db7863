package app

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/admission/serve"
	"flyball.dev/flyball/engine/controller/freezes"
	"flyball.dev/flyball/engine/controller/notifications"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/notify"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/world"
)

// addWebhook serves admission requests on every replica, and returns the proof that freezes are enforced. The server is
// nil if the webhook is disabled.
func addWebhook(mgr ctrl.Manager, config *rest.Config, opts Options, w *world.World, tracker *status.Tracker,
	pods pods.Options, messages *notifications.Controller) (*serve.Server, *freezes.Enforcement, error) {
	if !opts.Webhook.Enabled {
		return nil, newEnforcement(mgr, opts, w, tracker, nil), addUnhook(mgr, config, opts)
	}
	inspector, err := inspect.New(config)
	if err != nil {
		return nil, nil, fmt.Errorf("set up the webhook: %w", err)
	}
	clientset, err := newClients(config)
	if err != nil {
		return nil, nil, fmt.Errorf("set up the webhook: %w", err)
	}
	judging, err := newJudging(mgr, config, opts, w, clientset, messages)
	if err != nil {
		return nil, nil, err
	}
	o, err := judging.serverOptions(mgr, config, w, inspector, clientset)
	if err != nil {
		return nil, nil, fmt.Errorf("set up the webhook: %w", err)
	}
	server, err := serve.New(o)
	if err != nil {
		return nil, nil, fmt.Errorf("set up the webhook: %w", err)
	}
	enforcement, err := judging.add(mgr, server, o.Keeper, tracker)
	if err != nil {
		return nil, nil, err
	}
	if err := judging.addNewPods(mgr, server, o.Keeper, pods); err != nil {
		return nil, nil, err
	}
	if opts.Webhook.Evaluate.Enabled {
		if err := judging.evaluate(config, server); err != nil {
			return nil, nil, err
		}
	}
	if err := RegisterCertificate(judging.opts.Registry, server); err != nil {
		return nil, nil, err
	}
	if err := mgr.AddReadyzCheck("webhook", server.Ready); err != nil {
		return nil, nil, fmt.Errorf("set up the webhook's readiness check: %w", err)
	}
	return server, enforcement, mgr.Add(server)
}

// serverOptions returns the options of the server, with the keeper of the configurations.
func (j *judging) serverOptions(mgr ctrl.Manager, config *rest.Config, w *world.World, inspector *inspect.Inspector,
	clientset *clients,
) (serve.Options, error) {
	o := serve.Options{
		Host: j.opts.Webhook.Host, Port: j.opts.Webhook.Port,
		CertDir:  j.opts.Webhook.CertDir,
		ClientCA: j.opts.Webhook.ClientCA, ClientNames: j.opts.Webhook.ClientNames,
		Drain:  j.opts.Webhook.Drain,
		Secret: types.NamespacedName{Namespace: j.opts.Namespace, Name: j.opts.Webhook.Secret},
		Kinds:  j.ownKinds(w, inspector, clientset),
		Log:    j.opts.Log.WithName("webhook"),

		OwnConfiguration: register.OwnConfigurationName,
	}
	o.Endpoint, o.Policies = endpoint(j.opts), j.opts.Webhook.URL != ""
	var err error
	if o.Keeper, err = register.NewRegistrar(config, o.Log); err != nil {
		return o, err
	}
	o.Keeper.OwnerReference = j.ownerReference()
	if o.Keeper.Author, err = j.author(mgr.Elected(), register.Configuration(register.OwnConfigurationName, o.Endpoint,
		o.Kinds, nil)); err != nil {
		return o, err
	}
	return o, nil
}

// ownKinds returns the validators of Flyball's own kinds, with the guards of freezes and the rights of authors.
func (j *judging) ownKinds(w *world.World, inspector *inspect.Inspector, clientset *clients) []review.OwnKind {
	ctx, reviews := compileContext(w), clientset.rights.SubjectAccessReviews()
	own := j.guard(ownKinds(w, ctx, rights.Adapters{Resources: inspector, Reviews: reviews}, j.messages, j.opts.Clock))
	own = askAuthors(own, &rights.Authors{
		Adapted: w, Resources: inspector, Reviews: rights.NewReviews(reviews, clock.RealClock{}), Context: ctx,
		Clock: j.clock, Note: j.notes.Guarded, Loaded: w.Loaded(),
	})
	return selectionWarnings{world: w, objects: j.metadata.Client, context: ctx, clock: j.opts.Clock}.wrap(own)
}

// endpoint returns the address at which API servers reach the webhook.
func endpoint(opts Options) register.Endpoint {
	if opts.Webhook.URL != "" {
		return register.Endpoint{URL: opts.Webhook.URL}
	}
	service := &admissionregistrationv1.ServiceReference{Namespace: opts.Namespace, Name: opts.Webhook.Service}
	if port := opts.Webhook.ServicePort; port != 0 {
		service.Port = &port
	}
	return register.Endpoint{Service: service}
}

// compileContext returns the context in which policies are checked at admission.
func compileContext(w *world.World) policy.Context {
	return policy.Context{
		Scope: w.Scope(), AuthorsAsked: true,
		Kinds: func(gk schema.GroupKind) (policy.AdaptedKind, bool) { return w.Snapshot().AdaptedKind(gk) },
	}
}

// askAuthors adds to validators the check that the authors of policies have the rights that their policies use.
func askAuthors(list []review.OwnKind, authors *rights.Authors) []review.OwnKind {
	for i := range list {
		if row, ok := kinds.Find(list[i].Kind); ok && row.ActsOnTargets() {
			list[i] = authors.Ask(list[i], row)
		}
	}
	return list
}

// ownKinds returns Flyball's own kinds except freezes, with the validators for rules that schema and CEL cannot
// express. The guard validates freezes.
func ownKinds(w *world.World, ctx policy.Context, adapters rights.Adapters, messages *notifications.Controller, clk clock.PassiveClock,
) []review.OwnKind {
	list := []review.OwnKind{
		{Kind: "Adapter", Resource: "adapters", Validator: adapters},
		{Kind: "Calendar", Resource: "calendars", Validator: checkCalendar(w, clk)},
		{Kind: "Notification", Resource: "notifications", Validator: checkNotification(messages)},
		{Kind: "ClusterNotification", Resource: "clusternotifications",
			Validator: checkWith(func(ctx context.Context, n *v1alpha1.ClusterNotification) field.ErrorList {
				if _, errs := notify.CompileCluster(n); len(errs) > 0 {
					return errs
				}
				return messages.CheckClusterNotification(ctx, n)
			})},
	}
	for _, kind := range kinds.All() {
		if _, guarded := freeze.Resources()[kind.Name]; guarded {
			continue
		}
		spec := check(func(obj policy.Object) field.ErrorList {
			_, errs := kind.Compile(obj, ctx)
			return errs
		})
		if kind.MostInForce > 0 {
			spec = limitInForce(w, clk, kind, spec)
		}
		list = append(list, review.OwnKind{Kind: kind.Name, Resource: kind.Resource, Validator: onceLoaded(w, spec)})
	}
	return list
}

// mostEnded is the largest number of objects in a namespace, in multiples of Kind.MostInForce. Ended objects count, and stay for a day.
const mostEnded = 10

// limitInForce adds to a validator the limits of the objects of a kind in a namespace, for a new object and for an edit by which an
// ended object begins again.
func limitInForce(w *world.World, clk clock.PassiveClock, kind policy.Row, spec review.Validator) review.Validator {
	return review.ValidatorFunc(func(ctx context.Context, req review.Request) ([]string, field.ErrorList, error) {
		warnings, errs, err := spec.Validate(ctx, req)
		obj, _ := req.New.(policy.Object)
		if err != nil || len(errs) > 0 || obj == nil {
			return warnings, errs, err
		}
		over := kind.HasEnded(obj, clk.Now())
		if old, edited := req.Old.(policy.Object); edited && (over || !kind.HasEnded(old, clk.Now())) {
			return warnings, nil, nil
		}
		all, inForce := 0, 0
		for p := range w.Snapshot().Policies {
			if p.ID.Kind == kind.Name && p.ID.Namespace == obj.GetNamespace() && p.ID.Name != obj.GetName() {
				all++
				if !kind.HasEnded(p.Object, clk.Now()) {
					inForce++
				}
			}
		}
		why := ""
		switch {
		case !over && inForce >= kind.MostInForce:
			why = fmt.Sprintf("has %d %ss that are not over: delete one first", inForce, kind.Name)
		case all >= mostEnded*kind.MostInForce:
			why = fmt.Sprintf("has %d %ss, with those that are over: delete some first", all, kind.Name)
		}
		if why != "" {
			err = apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource(kind.Resource).GroupResource(), obj.GetName(),
				fmt.Errorf("the namespace %s %s", obj.GetNamespace(), why))
		}
		return warnings, nil, err
	})
}

// checkNotification returns the validator of Notifications.
func checkNotification(messages *notifications.Controller) review.Validator {
	spec := checkWith(func(ctx context.Context, n *v1alpha1.Notification) field.ErrorList {
		if _, errs := notify.Compile(n); len(errs) > 0 {
			return errs
		}
		return messages.CheckNotification(ctx, n)
	})
	return review.ValidatorFunc(func(ctx context.Context, req review.Request) ([]string, field.ErrorList, error) {
		warnings, errs, err := spec.Validate(ctx, req)
		if n, ok := req.New.(*v1alpha1.Notification); ok && err == nil && req.Operation == admissionv1.Create {
			err = messages.Admit(ctx, n)
		}
		return warnings, errs, err
	})
}

// onceLoaded returns a validator that waits until the adapters have been loaded, because adapters define the accepted
// fields of a kind. If the context ends before, the request is refused.
func onceLoaded(w *world.World, v review.Validator) review.Validator {
	return review.ValidatorFunc(func(ctx context.Context, req review.Request) ([]string, field.ErrorList, error) {
		select {
		case <-w.Loaded():
			return v.Validate(ctx, req)
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("check %s %s: the adapters have not been read yet", req.Kind, req.Name)
		}
	})
}

// check returns a validator that calls a pure function with objects of one type.
func check[T runtime.Object](faults func(T) field.ErrorList) review.Validator {
	return checkWith(func(_ context.Context, obj T) field.ErrorList { return faults(obj) })
}

// checkWith returns a validator that calls a function with objects of one type.
func checkWith[T runtime.Object](faults func(context.Context, T) field.ErrorList) review.Validator {
	return review.ValidatorFunc(func(ctx context.Context, req review.Request) ([]string, field.ErrorList, error) {
		obj, ok := req.New.(T)
		if !ok {
			return nil, nil, fmt.Errorf("check %s %s: got a %T", req.Kind, req.Name, req.New)
		}
		return nil, faults(ctx, obj), nil
	})
}

// checkCalendar returns the validator of calendars. It warns about holidays that were not compared with an official list, and about
// ignored events.
func checkCalendar(w *world.World, clk clock.PassiveClock) review.Validator {
	return review.ValidatorFunc(func(_ context.Context, req review.Request) (warnings []string, errs field.ErrorList, err error) {
		c, ok := req.New.(*v1alpha1.Calendar)
		if !ok {
			return nil, nil, fmt.Errorf("check %s %s: got a %T", req.Kind, req.Name, req.New)
		}
		ignored, errs := w.Snapshot().CheckCalendar(c)
		for _, event := range ignored {
			warnings = append(warnings, "spec.ics.inline: an event is ignored: "+event)
		}
		if text := times.Unchecked(c.Spec.Holidays, clk.Now()); text != "" && req.SpecChanged {
			warnings = append(warnings, text)
		}
		return warnings, errs, nil
	})
}
