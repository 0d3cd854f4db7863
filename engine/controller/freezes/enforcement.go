package freezes

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
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

const (
	// probeEvery is the longest time between two checks of the enforcement. Each change and transition of a freeze is a
	// reason for a check too.
	probeEvery = time.Minute
	// probeAgain is the pause after a failed check.
	probeAgain = 2 * time.Second
	// grace is the time for which failing probes are not reported. During this time the configuration is being written,
	// or API servers have not read it yet. graceStep is the pause between these probes.
	grace, graceStep = 2 * time.Second, 250 * time.Millisecond
	// noWebhook is the reason why a manager without a webhook enforces no freeze.
	noWebhook = "this manager serves no webhook (--webhook=false), so changes are not judged"
)

// Enforcement checks, on the leader, whether freezes are enforced. It sends probes to the API server, which must
// forward them to Flyball's webhook. The status of a freeze never claims an enforcement that no probe has proved.
type Enforcement struct {
	World  *world.World
	Client client.Client
	Clock  clock.WithTicker
	// Configuration writes the checked configuration. nil means that this manager serves no webhook.
	Configuration *ConfigurationWriter
	// Dirty schedules a new look at the status of a policy.
	Dirty func(workload.Policy)
	Log   logr.Logger

	mu   sync.Mutex
	seen finding
	// shut has texts for each maintenance window, about the other windows that are never open at the same time. shutOf
	// is the set of policies of this result, and shutAt its instant.
	shut   map[workload.Policy][]string
	shutOf *freeze.Set
	shutAt time.Time
}

// compareEvery is the longest time between two comparisons of the maintenance windows with each other. A changed window is
// a reason for a comparison too.
const compareEvery = time.Hour

// compare finds the maintenance windows that are never open together. It reuses a recent result for the same set of
// policies.
func (e *Enforcement) compare(now time.Time) {
	set := e.World.Set()
	e.mu.Lock()
	known := set == e.shutOf && now.Sub(e.shutAt).Abs() < compareEvery
	e.mu.Unlock()
	if known {
		return
	}
	shut := set.NeverOpen(e.World.Snapshot().Inventory().Namespaces, now)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shut, e.shutOf, e.shutAt = shut, set, now
}

// NeverOpen returns texts about the maintenance windows that are never open at the same time as the given window.
func (e *Enforcement) NeverOpen(id workload.Policy) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shut[id]
}

// finding is the result of the last probe.
type finding struct {
	// why is the reason why changes may pass. Empty means that the rules are enforced.
	why string
	// resources are the resources named by the rules.
	resources map[schema.GroupResource]bool
	// forms has the form of each policy behind the rules.
	forms map[workload.Policy]string
}

// Start checks the rules until the context ends. A configuration that cannot be watched is an error.
func (e *Enforcement) Start(ctx context.Context) error {
	edited, err := e.Configuration.changed(ctx)
	if err != nil {
		return err
	}
	follow(ctx, e.World, e.Clock, edited, func(now time.Time) (pause time.Duration, at time.Time) {
		if !e.check(ctx, now) {
			return probeAgain, e.nextTransition(now)
		}
		return probeEvery, e.nextTransition(now)
	})
	return nil
}

// nextTransition returns the time when the next freeze begins or ends, or zero for never.
func (e *Enforcement) nextTransition(now time.Time) (next time.Time) {
	for p := range e.World.Snapshot().Policies {
		if freeze.RuleOf(p.Policy.Policy) != nil {
			next = timeline.Earliest(next, p.State(now).Next)
		}
	}
	return next
}

// check checks by a probe whether the API server sends changes to the webhook as the webhook configuration says. It
// stores the result and reports whether freezes are enforced. It also queues the statuses of all freezes, which depend
// on the result and on the adapters.
func (e *Enforcement) check(ctx context.Context, now time.Time) (well bool) {
	e.compare(now)
	var found finding
	var err error
	for until := time.Now().Add(grace); ; {
		found, err = e.prove(ctx, now)
		if err != nil {
			e.Log.V(1).Info("Failed to check whether freezes are enforced; will retry", "reason", err.Error())
			return false
		}
		if found.why == "" || time.Now().After(until) || !sleep(ctx, graceStep) {
			break
		}
	}
	e.mu.Lock()
	if found.why != e.seen.why && found.why != "" {
		e.Log.Info("Freezes are not enforced as far as can be seen", "reason", found.why)
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

// sleep waits for a duration. It returns false at once if the context ends.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// formOf returns a text that changes with every edit of a policy's spec, and with its recreation.
func formOf(p *world.Policy) string {
	return fmt.Sprintf("%s/%d", p.Object.GetUID(), p.Object.GetGeneration())
}

// prove compares the configuration with the wanted configuration, and sends a probe. An error means that the API
// server did not answer.
func (e *Enforcement) prove(ctx context.Context, now time.Time) (finding, error) {
	found := finding{forms: map[workload.Policy]string{}}
	for p := range e.World.Snapshot().Policies {
		if freeze.RuleOf(p.Policy.Policy) != nil {
			found.forms[p.ID] = formOf(p)
		}
	}
	adapter := e.anyAdapter()
	want := e.Configuration.configuration(now)
	if want == nil || adapter == "" {
		return found, nil // there is nothing to enforce
	}
	live := byName()
	err := e.Configuration.Keeper.Get(ctx, client.ObjectKeyFromObject(live), live)
	var answer apierrors.APIStatus
	switch {
	case apierrors.IsNotFound(err):
		found.why = "the webhook configuration " + register.FreezeConfigurationName + " is missing, so changes pass"
		return found, nil
	case errors.As(err, &answer):
		found.why = "the webhook configuration " + register.FreezeConfigurationName + " cannot be read, so changes may pass: " + err.Error()
		return found, nil
	case err != nil:
		return found, fmt.Errorf("read the webhook configuration of freezes: %w", err)
	case register.ProbeManager(live.Webhooks) != register.ProbeManager(want.Webhooks):
		found.why = "the webhook configuration " + register.FreezeConfigurationName + " differs from the freezes, so changes may pass"
		return found, nil
	}
	found.resources = resourcesOf(live.Webhooks)
	a := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: adapter}}
	err = e.Client.Status().Patch(ctx, a, client.RawPatch(types.MergePatchType, []byte(`{}`)), client.DryRunAll,
		client.FieldOwner(register.ProbeManager(live.Webhooks)))
	switch {
	case register.ProbeSeen(err):
	case err == nil:
		found.why = "the API server has let a probe pass: it does not send changes to the webhook"
	case !errors.As(err, &answer):
		return found, fmt.Errorf("send a probe: %w", err)
	default:
		found.why = "a probe has not come back from the webhook: " + err.Error()
	}
	return found, nil
}

// anyAdapter returns the name of an Adapter for the probe, or "" if no Adapter exists.
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

// resourcesOf returns the resources in the rules of webhooks.
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

// Unenforced returns the reason why changes denied by a policy may pass, or "" if they are denied. known is false
// until the policy has been checked. concerned is false for a policy that denies nothing any more.
func (e *Enforcement) Unenforced(p *world.Policy) (why string, known, concerned bool) {
	rule := freeze.RuleOf(p.Policy.Policy)
	if rule == nil || rule.Denies() == 0 && !rule.RefusesLeaving() || rule.Over(e.Clock.Now()) {
		return "", true, false
	}
	if e.Configuration == nil {
		return noWebhook, true, true
	}
	if exempt := e.Configuration.Scope.Exempt; rule.OnlyIn(exempt) {
		return "nothing in the namespaces " + strings.Join(exempt, " and ") + " is ever judged, so that the cluster and Flyball can be repaired",
			true, true
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

// unjudged returns a text about a selected kind whose changes are not judged, or "" if changes of all selected kinds
// are judged. A policy without listed kinds selects all namespaced kinds with an adapter.
func unjudged(w *world.World, p *world.Policy) string {
	listed, found, unserved := freeze.RuleOf(p.Policy.Policy).JudgedKinds(), map[schema.GroupKind]bool{}, map[schema.GroupKind]bool{}
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
			return fmt.Sprintf("the API server serves %s in none of the versions that the adapter %s lists, so its changes are not judged",
				a.GroupKind, resource)
		case a.Compiled == nil:
			return fmt.Sprintf("the adapter %s cannot be read, so changes of %s are not judged", resource, a.GroupKind)
		}
	}
	for _, gk := range listed {
		switch {
		case found[gk]:
		case unserved[gk]:
			return fmt.Sprintf("the API server does not serve %s, so its changes are not judged; see kubectl get adapters.flyball.dev", gk)
		default:
			return fmt.Sprintf("changes of %s are not judged: there is no adapter for it; see kubectl get adapters.flyball.dev", gk)
		}
	}
	if len(found) == 0 {
		return "there is no adapter, so no change is judged; see kubectl get adapters.flyball.dev"
	}
	return ""
}

// unsent returns a text about a listed kind that is missing in the rules, or "" if none is missing.
func unsent(w *world.World, p *world.Policy, sent map[schema.GroupResource]bool) string {
	listed := freeze.RuleOf(p.Policy.Policy).JudgedKinds()
	for resource, a := range w.Snapshot().Adapters() {
		if slices.Contains(listed, a.GroupKind) && a.Serving != world.NotServed && !sent[resource] && !outside(w, p, a.GroupKind) {
			return fmt.Sprintf("the API server does not send changes of %s to the webhook", a.GroupKind)
		}
	}
	return ""
}

// outside reports whether the kind is cluster-scoped and the policy is namespaced. Such a policy never selects
// objects of the kind.
func outside(w *world.World, p *world.Policy, gk schema.GroupKind) bool {
	return p.ID.Namespace != "" && w.Scope().IsClusterScoped(gk)
}

func compareResources(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) }
