package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/crds/v1alpha1"
	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/admission/serve"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/controller/freezes"
	"flyball.dev/flyball/engine/controller/notifications"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/world"
)

// addUnhook deletes, on the leader, the webhook configurations of an earlier manager that served a webhook. Otherwise
// API servers would go on calling that webhook.
func addUnhook(mgr ctrl.Manager, config *rest.Config, opts Options) error {
	connected, err := newClients(config)
	if err != nil {
		return fmt.Errorf("set up without a webhook: %w", err)
	}
	if err := addNoNewPods(mgr, connected, opts); err != nil {
		return err
	}
	return mgr.Add(&controller.Cleanup{
		Delete: connected.registrations.ValidatingWebhookConfigurations().Delete,
		Names:  []string{register.FreezeConfigurationName, register.OwnConfigurationName},
		Log:    opts.Log.WithName("webhook"),
	})
}

// judging has everything that the webhook needs to judge changes and to guard the policies.
type judging struct {
	opts     Options
	world    *world.World
	clients  *clients
	metadata freezes.Metadata
	mapper   meta.RESTMapper
	notes    *freezes.Recorder
	messages *notifications.Controller
	clock    clock.WithTicker
	// account is the user name of the manager itself.
	account string
}

func newJudging(mgr ctrl.Manager, config *rest.Config, opts Options, w *world.World, clients *clients,
	messages *notifications.Controller) (*judging, error) {
	j := &judging{opts: opts, world: w, clients: clients, clock: opts.Clock, mapper: mgr.GetRESTMapper(), messages: messages}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the judging of changes: %w", err)
	}
	whole, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the judging of changes: %w", err)
	}
	j.metadata = freezes.Metadata{Client: objects, Objects: whole}
	m, err := freezes.NewMetrics(opts.Registry)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of judging: %w", err)
	}
	j.notes = freezes.NewRecorder(mgr.GetClient(), m, w, j.clock.Now, messages.Announce, opts.mark(), opts.Log.WithName("freezes"))
	self, err := clients.people.SelfSubjectReviews().Create(context.Background(), &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask the API server which user the manager is: %w", err)
	}
	j.account = self.Status.UserInfo.Username
	return j, nil
}

// exempt returns the namespaces in which changes are never judged, so that a broken webhook can be repaired.
func (j *judging) exempt() []string { return freezeadmission.Exempt(j.opts.Namespace) }

// guard adds the freeze kinds to Flyball's own kinds, and guards the adapters.
func (j *judging) guard(kinds []review.OwnKind) []review.OwnKind {
	g := &freezeadmission.Guard{
		Freezes: j.world, Objects: j.metadata, Rights: rights.NewReviews(j.clients.rights.SubjectAccessReviews(), clock.RealClock{}),
		Clock: j.clock,
		Context: freeze.Context{Scope: j.world.Scope(), Calendars: func(name string) (timeline.Timeline,
			bool) {
			return j.world.Snapshot().Days(name)
		},
			Lost: func(name string) times.Loss { return j.world.Snapshot().Lost(name) }},
		Exempt: j.exempt(), Account: j.account, Note: j.notes.Guarded,
	}
	kinds = slices.Clone(kinds)
	for i := range kinds {
		switch kinds[i].Kind {
		case "Adapter":
			kinds[i] = g.Adapter(kinds[i].Validator)
		case "Calendar":
			kinds[i] = g.Calendar(kinds[i].Validator, func(names ...string) sets.Set[string] { return j.world.Snapshot().Including(names...) })
			kinds[i].Validator = onceLoaded(j.world, kinds[i].Validator)
		}
	}
	for _, kind := range g.Kinds() {
		kind.Validator = onceLoaded(j.world, kind.Validator) // without the calendars, a freeze that uses their days would not be guarded
		kinds = append(kinds, kind)
	}
	return kinds
}

// ownerReference returns the function that finds the owner of the webhook configurations.
func (j *judging) ownerReference() func(context.Context) (*metav1.OwnerReference, error) {
	if name := j.opts.Webhook.Owner; name != "" {
		return freezes.OwnerReferenceOf(j.metadata, schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1",
			Resource: "clusterroles"}, "ClusterRole", name)
	}
	return freezes.OwnerReferenceOf(j.metadata, schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"},
		"CustomResourceDefinition", freeze.Resources()[freeze.ClusterKind]+"."+v1alpha1.GroupVersion.Group)
}

// scope returns the scope of the webhook configuration of freezes, without its rules.
func (j *judging) scope() register.FreezeScope {
	return register.FreezeScope{Exempt: j.exempt(), Account: j.account, FieldManager: apply.FieldManager, DryRun: j.opts.DryRun}
}

// author returns the author of the webhook configurations. It stands for this release, and is identified by the
// configurations that the release produces.
func (j *judging) author(elected <-chan struct{}, own *admissionregistrationv1.ValidatingWebhookConfiguration) (register.Author,
	error) {
	release, err := register.ReleaseOf(own, j.scope())
	return register.Author{Release: release, Leads: elected}, err
}

// judge returns the judge of changes. It calls note with each judgement, unless note is nil.
func (j *judging) judge(note func(freezeadmission.Judgement), log logr.Logger) *freezeadmission.Judge {
	return &freezeadmission.Judge{
		Freezes: j.world, Objects: j.metadata, Rights: j.clients.rights.SubjectAccessReviews(),
		Served: func(gk schema.GroupKind) (schema.GroupVersionResource, bool) {
			mapping, err := j.mapper.RESTMapping(gk)
			if err != nil {
				return schema.GroupVersionResource{}, false
			}
			return mapping.Resource, true
		},
		Clock: j.clock, Ready: j.world.Ready, Note: note, DryRun: j.opts.DryRun, Log: log,
	}
}

// add serves judgements and keeps their webhook configuration up to date, on every replica.
func (j *judging) add(mgr ctrl.Manager, server *serve.Server, keeper *register.Registrar,
	tracker *status.Tracker) (*freezes.Enforcement, error) {
	log := j.opts.Log.WithName("judge")
	server.HandleHTTP(register.JudgePath, j.judge(j.notes.Judged, log))
	server.HandleHTTP(register.ProbePath, register.ProbeHandler{Ready: j.world.Ready})
	configuration := &freezes.ConfigurationWriter{
		World: j.world, Clock: j.clock, Server: server, Keeper: keeper, Log: log, Scope: j.scope(),
	}
	if err := mgr.AddReadyzCheck("freezes", j.world.Ready); err != nil {
		return nil, fmt.Errorf("set up the readiness check of freezes: %w", err)
	}
	if err := mgr.Add(j.notes); err != nil {
		return nil, fmt.Errorf("set up the notes of judging: %w", err)
	}
	if err := mgr.Add(configuration); err != nil {
		return nil, fmt.Errorf("set up the webhook configuration of freezes: %w", err)
	}
	enforcement := newEnforcement(mgr, j.opts, j.world, tracker, configuration)
	if err := mgr.Add(enforcement); err != nil {
		return nil, fmt.Errorf("set up the proof of freezes: %w", err)
	}
	return enforcement, nil
}

// newEnforcement returns the proof that freezes are enforced. hook is nil if this manager serves no webhook.
func newEnforcement(mgr ctrl.Manager, opts Options, w *world.World, tracker *status.Tracker,
	configuration *freezes.ConfigurationWriter) *freezes.Enforcement {
	return &freezes.Enforcement{World: w, Client: mgr.GetClient(), Clock: opts.Clock, Configuration: configuration, Dirty: tracker.Dirty,
		Log: opts.Log.WithName("freezes")}
}
