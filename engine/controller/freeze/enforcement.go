package freeze

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admit/probe"
	"flyball.dev/flyball/engine/admit/registration"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

const (
	// probeEvery is how often it is looked whether freezes are enforced, besides at every change and transition.
	probeEvery = time.Minute
	// probeAgain is how long after a probe that was not seen the next one is sent.
	probeAgain = 2 * time.Second
	// grace is how long a probe may fail before that is told, and graceStep the pause meanwhile: the configuration is being written, or
	// API servers have not heard of it yet.
	grace, graceStep = 2 * time.Second, 250 * time.Millisecond
	// noWebhook is why nothing is enforced by a manager without a webhook.
	noWebhook = "this manager serves no webhook (--webhook=false), so that changes are not judged"
)

// Enforcement knows whether freezes are enforced: it has API servers asked, on the leader, whether they send changes here. A
// freeze never claims what was not seen to work.
type Enforcement struct {
	World  *world.World
	Client client.Client
	Clock  clock.WithTicker
	// Hook keeps the configuration that is proved; nil: there is none, since no webhook is served.
	Hook *Hook
	// Dirty has the status of a policy looked at again.
	Dirty func(workload.Policy)
	Log   logr.Logger

	mu   sync.Mutex
	seen finding
}

// finding is what the last probe came to.
type finding struct {
	// why says what is wrong; empty: the rules are enforced.
	why string
	// resources are those that the rules name.
	resources map[schema.GroupResource]bool
	// forms are the policies that the rules come from, each with its revision.
	forms map[workload.Policy]string
}

// Start proves the rules until the context ends.
func (e *Enforcement) Start(ctx context.Context) error {
	edited, err := e.Hook.Hook.Changed(ctx, e.Log)
	if err != nil {
		return fmt.Errorf("watch the webhook configuration of freezes: %w", err)
	}
	follow(ctx, e.World, e.Clock, edited, func(now time.Time) (pause time.Duration, at time.Time) {
		if !e.look(ctx, now) {
			return probeAgain, e.nextEdge(now)
		}
		return probeEvery, e.nextEdge(now)
	})
	return nil
}

// nextEdge is when the next freeze begins or ends; zero: never.
func (e *Enforcement) nextEdge(now time.Time) (next time.Time) {
	for p := range e.World.Snapshot().Policies {
		if freeze.RuleOf(p.Policy.Policy) != nil {
			next = timeline.Earliest(next, p.State(now).Next)
		}
	}
	return next
}

// look proves the rules, takes down what came of it, and says whether all is well. The policies' statuses are looked at again in
// any case: adapters may have come and gone.
func (e *Enforcement) look(ctx context.Context, now time.Time) (well bool) {
	var found finding
	var err error
	for until := time.Now().Add(grace); ; {
		found, err = e.prove(ctx, now)
		if err != nil {
			e.Log.V(1).Info("cannot tell whether freezes are enforced, trying again", "reason", err.Error())
			return false
		}
		if found.why == "" || time.Now().After(until) || !sleep(ctx, graceStep) {
			break
		}
	}
	e.mu.Lock()
	if found.why != e.seen.why && found.why != "" {
		e.Log.Info("freezes are not seen to be enforced", "reason", found.why)
	}
	e.seen = found
	e.mu.Unlock()
	for p := range e.World.Snapshot().Policies {
		if freeze.RuleOf(p.Policy.Policy) != nil {
			e.Dirty(p.ID)
		}
	}
	return found.why == ""
}

// sleep waits, and says whether the context has not ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// formOf tells forms of a policy apart.
func formOf(p *world.Policy) string {
	return fmt.Sprintf("%s/%d", p.Object.GetUID(), p.Object.GetGeneration())
}

// prove compares the configuration with what it is to be, and sends a probe. An error says that there was no answer.
func (e *Enforcement) prove(ctx context.Context, now time.Time) (finding, error) {
	found := finding{forms: map[workload.Policy]string{}}
	for p := range e.World.Snapshot().Policies {
		if freeze.RuleOf(p.Policy.Policy) != nil {
			found.forms[p.ID] = formOf(p)
		}
	}
	adapter := e.anyAdapter()
	want := e.Hook.configuration(now)
	if want == nil || adapter == "" {
		return found, nil // there is nothing to enforce
	}
	live, err := e.Hook.Hook.Client.Get(ctx, registration.FreezeConfigurationName, metav1.GetOptions{})
	var answer apierrors.APIStatus
	switch {
	case apierrors.IsNotFound(err):
		found.why = "the webhook configuration " + registration.FreezeConfigurationName + " is missing, so that changes pass"
		return found, nil
	case errors.As(err, &answer):
		found.why = "the webhook configuration " + registration.FreezeConfigurationName + " cannot be read, so that changes may pass: " + err.Error()
		return found, nil
	case err != nil:
		return found, fmt.Errorf("read the webhook configuration of freezes: %w", err)
	case probe.FieldManager(live.Webhooks) != probe.FieldManager(want.Webhooks):
		found.why = "the webhook configuration " + registration.FreezeConfigurationName + " is not as the freezes ask, so that changes may pass"
		return found, nil
	}
	found.resources = resourcesOf(live.Webhooks)
	a := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: adapter}}
	err = e.Client.Status().Patch(ctx, a, client.RawPatch(types.MergePatchType, []byte(`{}`)), client.DryRunAll, client.FieldOwner(probe.FieldManager(live.Webhooks)))
	switch {
	case probe.Seen(err):
	case err == nil:
		found.why = "the API server has let a probe pass: it does not send changes to the webhook"
	case !errors.As(err, &answer):
		return found, fmt.Errorf("send a probe: %w", err)
	default:
		found.why = "a probe has not come back from the webhook: " + err.Error()
	}
	return found, nil
}

// anyAdapter names an Adapter to send a probe about; empty: there is none.
func (e *Enforcement) anyAdapter() string {
	var names []string
	for resource := range e.World.Snapshot().Adapters() {
		names = append(names, strings.TrimSuffix(resource.String(), "."))
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

// resourcesOf lists the resources that webhooks see.
func resourcesOf(webhooks []admissionregistrationv1.ValidatingWebhook) map[schema.GroupResource]bool {
	all := map[schema.GroupResource]bool{}
	for i := range webhooks {
		for _, rule := range webhooks[i].Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					all[schema.GroupResource{Group: group, Resource: resource}] = true
				}
			}
		}
	}
	return all
}

// Unenforced says why changes may pass that a policy denies; empty: it is seen that they do not. While nothing is known, known is
// false. Of a policy that denies nothing any more, concerned is false.
func (e *Enforcement) Unenforced(p *world.Policy) (why string, known, concerned bool) {
	rule := freeze.RuleOf(p.Policy.Policy)
	if rule == nil || rule.Over(e.Clock.Now()) {
		return "", true, false
	}
	if e.Hook == nil {
		return noWebhook, true, true
	}
	if exempt := e.Hook.Scope.Exempt; rule.OnlyIn(exempt) {
		return "nothing in the namespaces " + strings.Join(exempt, " and ") + " is ever judged, so that the cluster and Flyball can be repaired", true, true
	}
	e.mu.Lock()
	seen := e.seen
	e.mu.Unlock()
	if seen.forms[p.ID] != formOf(p) {
		return "", false, true
	}
	if why := unjudged(e.World, p); why != "" {
		return why, true, true
	}
	if seen.why != "" {
		return seen.why, true, true
	}
	return unsent(e.World, p, seen.resources), true, true
}

// unjudged says which kind that a policy selects is not judged; empty: all are. A policy that lists no kinds means those that have
// an adapter and live in namespaces.
func unjudged(w *world.World, p *world.Policy) string {
	listed, found, unserved := p.Extras.(policy.Judge).JudgedKinds(), map[schema.GroupKind]bool{}, map[schema.GroupKind]bool{}
	adapters := w.Snapshot().Adapters()
	for _, resource := range slices.SortedFunc(maps.Keys(adapters), compareResources) {
		a := adapters[resource]
		if a.Serving == world.NotServed || len(listed) > 0 && !slices.Contains(listed, a.GroupKind) {
			unserved[a.GroupKind] = a.Serving == world.NotServed
			continue
		}
		found[a.GroupKind] = true
		switch {
		case len(listed) == 0 && w.Scope().IsClusterScoped(a.GroupKind): // it is selected only where it is listed
		case a.Deleting:
			return fmt.Sprintf("the adapter %s is being deleted; changes of %s are not judged once it is gone", resource, a.GroupKind)
		case a.Serving == world.OtherVersions:
			return fmt.Sprintf("the API server serves %s in none of the versions that the adapter %s lists, so that its changes are not judged", a.GroupKind, resource)
		case a.Compiled == nil:
			return fmt.Sprintf("the adapter %s cannot be read, so that changes of %s are not judged", resource, a.GroupKind)
		}
	}
	for _, gk := range listed {
		switch {
		case found[gk]:
		case unserved[gk]:
			return fmt.Sprintf("the API server does not serve %s, so that its changes are not judged; see kubectl get adapters.flyball.dev", gk)
		default:
			return fmt.Sprintf("changes of %s are not judged: there is no adapter for it; see kubectl get adapters.flyball.dev", gk)
		}
	}
	if len(found) == 0 {
		return "there is no adapter, so that no change is judged; see kubectl get adapters.flyball.dev"
	}
	return ""
}

// unsent names a kind that a policy lists and that the rules leave out; empty: there is none.
func unsent(w *world.World, p *world.Policy, sent map[schema.GroupResource]bool) string {
	listed := p.Extras.(policy.Judge).JudgedKinds()
	for resource, a := range w.Snapshot().Adapters() {
		if slices.Contains(listed, a.GroupKind) && a.Serving != world.NotServed && !sent[resource] && !outside(w, p, a.GroupKind) {
			return fmt.Sprintf("the API server does not send changes of %s to the webhook", a.GroupKind)
		}
	}
	return ""
}

// outside says whether a kind lives outside namespaces and the policy in one: it never selects such an object.
func outside(w *world.World, p *world.Policy, gk schema.GroupKind) bool {
	return p.ID.Namespace != "" && w.Scope().IsClusterScoped(gk)
}

func compareResources(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) }
