package app

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"flyball.dev/flyball/engine/admit"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/target"
	"flyball.dev/flyball/engine/reconcile"
)

// addFreezes keeps on every replica what changes are judged by, and on the leader the status of exceptions.
func addFreezes(mgr ctrl.Manager, config *rest.Config, opts Options, scope target.Scope) (*reconcile.Freezes, error) {
	log := opts.Log.WithName("freezes")
	freezes, err := reconcile.NewFreezes(config, mgr.GetCache(), reconcile.FreezesOptions{Clock: opts.Clock, Scope: scope, Log: log})
	if err != nil {
		return nil, fmt.Errorf("set up freezes: %w", err)
	}
	if err := mgr.Add(freezes); err != nil {
		return nil, fmt.Errorf("set up freezes: %w", err)
	}
	if err := mgr.Add(&reconcile.Exceptions{Freezes: freezes, Client: mgr.GetClient(), Log: log}); err != nil {
		return nil, fmt.Errorf("set up the status of exceptions: %w", err)
	}
	return freezes, nil
}

// addUnhook removes what a manager with a webhook has left behind, once this one leads: API servers would go on asking.
func addUnhook(mgr ctrl.Manager, config *rest.Config, opts Options) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("set up without a webhook: %w", err)
	}
	return mgr.Add(&reconcile.FreezeUnhook{
		Hook: admit.FreezeHook{Client: clients.AdmissionregistrationV1().ValidatingWebhookConfigurations()}, Log: opts.Log.WithName("freezes"),
	})
}

// judging is what the webhook needs to judge changes and to guard the policies.
type judging struct {
	opts     Options
	scope    target.Scope
	freezes  *reconcile.Freezes
	clients  *kubernetes.Clientset
	metadata reconcile.Metadata
	notes    *reconcile.FreezeNotes
	clock    clock.PassiveClock
	// account is the user that the manager itself works under.
	account string
}

func newJudging(mgr ctrl.Manager, config *rest.Config, opts Options, scope target.Scope, freezes *reconcile.Freezes, clients *kubernetes.Clientset) (*judging, error) {
	if opts.Registry == nil {
		opts.Registry = metrics.Registry
	}
	j := &judging{opts: opts, scope: scope, freezes: freezes, clients: clients, clock: clock.RealClock{}}
	if opts.Clock != nil {
		j.clock = opts.Clock
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the judging of changes: %w", err)
	}
	j.metadata = reconcile.Metadata{Client: objects}
	m, err := reconcile.NewFreezeMetrics(opts.Registry)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of judging: %w", err)
	}
	j.notes = reconcile.NewFreezeNotes(mgr.GetClient(), mgr.GetEventRecorder("flyball"), m, j.clock.Now, opts.Log.WithName("freezes"))
	self, err := clients.AuthenticationV1().SelfSubjectReviews().Create(context.Background(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask the API server which user the manager is: %w", err)
	}
	j.account = self.Status.UserInfo.Username
	return j, nil
}

// exempt are the namespaces that are never judged, so that a dead webhook can be repaired.
func (j *judging) exempt() []string { return []string{metav1.NamespaceSystem, j.opts.Namespace} }

// guard adds the freeze kinds to Flyball's own, and guards the adapters.
func (j *judging) guard(kinds []admit.Kind) []admit.Kind {
	g := &admit.Guard{
		Freezes: j.freezes, Rights: j.clients.AuthorizationV1().SubjectAccessReviews(), Clock: j.clock,
		Context: freeze.Context{Scope: j.scope}, Exempt: j.exempt(), Note: j.notes.Guarded,
	}
	kinds = slices.Clone(kinds)
	for i := range kinds {
		if kinds[i].Kind == "Adapter" {
			kinds[i] = g.Adapter(kinds[i].Validator)
		}
	}
	return append(kinds, g.Kinds()...)
}

// add serves judgements and keeps their webhook configuration, on every replica.
func (j *judging) add(mgr ctrl.Manager, server *admit.Server) error {
	log := j.opts.Log.WithName("judge")
	server.HandleHTTP(admit.JudgePath, &admit.Judge{
		Freezes: j.freezes, Objects: j.metadata, Rights: j.clients.AuthorizationV1().SubjectAccessReviews(),
		Clock: j.clock, Ready: j.freezes.Ready, Note: j.notes.Judged, Log: log,
	})
	owner := reconcile.OwnerOf(j.metadata, schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		"CustomResourceDefinition", "clusterchangefreezes.flyball.dev")
	if name := j.opts.Webhook.Owner; name != "" {
		owner = reconcile.OwnerOf(j.metadata, schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}, "ClusterRole", name)
	}
	hook := &reconcile.FreezeHook{
		Freezes: j.freezes, Server: server, KeepBundle: true, Owner: owner, Log: log,
		Hook: admit.FreezeHook{Client: j.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations()},
		Scope: admit.FreezeScope{
			Exempt:  j.exempt(),
			Account: j.account, FieldManager: apply.FieldManager,
		},
	}
	if err := mgr.AddReadyzCheck("freezes", j.freezes.Ready); err != nil {
		return fmt.Errorf("set up the readiness check of freezes: %w", err)
	}
	if err := mgr.Add(j.notes); err != nil {
		return fmt.Errorf("set up the notes of judging: %w", err)
	}
	if err := mgr.Add(hook); err != nil {
		return fmt.Errorf("set up the webhook configuration of freezes: %w", err)
	}
	return nil
}
