// Package freezes keeps the objects around freezes: the webhook configuration that sends changes to this manager, the
// status of exceptions, and verdicts as counts, events and metrics.
//
// Decisions (docs/decisions): 0014.
package freezes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// hookRetry is the pause after a failed write of the configuration.
const hookRetry = 250 * time.Millisecond

// writePace is the shortest time between two writes of the configuration by one replica.
const writePace = 100 * time.Millisecond

// ConfigurationWriter keeps the webhook configuration of freezes in step with the policies, on every replica.
type ConfigurationWriter struct {
	World *world.World
	Clock clock.WithTicker
	// Keeper writes the configuration.
	Keeper *register.Registrar
	// Server is the address for API servers.
	Server register.Server
	// Scope is the scope of the configuration. ConfigurationWriter sets the field Namespaces itself.
	Scope register.FreezeScope
	Log   logr.Logger
}

// NeedLeaderElection returns false, because freezes must be enforced even while there is no leader.
func (w *ConfigurationWriter) NeedLeaderElection() bool { return false }

// Start keeps the configuration until the context ends. It does not delete the configuration at the end, so the API
// server refuses changes of frozen kinds while no replica runs. A configuration that cannot be watched is an error.
func (w *ConfigurationWriter) Start(ctx context.Context) error {
	edited, err := w.changed(ctx)
	if err != nil {
		return err
	}
	go func(replaced <-chan struct{}) {
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-replaced:
				replaced = w.Server.Replaced()
				workers.Poke(edited)
			}
		}
	}(w.Server.Replaced())
	follow(ctx, w.World, w.Clock, edited, func(now time.Time) (pause time.Duration, at time.Time) {
		wrote, err := w.keep(ctx, now)
		if err != nil && ctx.Err() == nil {
			w.Log.V(1).Info("Failed to write the webhook configuration of freezes; will retry", "reason", err.Error())
			pause = hookRetry
		}
		if wrote {
			// Replicas with different certificate authorities overwrite each other, but not without a pause.
			select {
			case <-ctx.Done():
			case <-time.After(writePace):
			}
		}
		set := w.World.Set()
		_, guard := set.GuardsNamespaces(now)
		return pause, timeline.Earliest(set.NextEnd(now), guard)
	})
	return nil
}

// changed returns a channel that receives when the configuration was created, changed or deleted, or when the author
// starts to lead, until the context ends.
func (w *ConfigurationWriter) changed(ctx context.Context) (chan struct{}, error) {
	changed := make(chan struct{}, 1)
	return changed, w.Keeper.Watch(ctx, changed, byName())
}

// byName returns the configuration with only its name.
func byName() *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: register.FreezeConfigurationName}}
}

func (w *ConfigurationWriter) keep(ctx context.Context, now time.Time) (wrote bool, err error) {
	want := w.configuration(now)
	if want == nil {
		wrote, err = w.Keeper.Delete(ctx, byName())
		if wrote {
			w.Log.Info("Removed the webhook configuration of freezes: no freeze policy is left")
		}
		return wrote, err
	}
	if len(want.Webhooks[0].ClientConfig.CABundle) == 0 {
		return false, fmt.Errorf("keep the webhook configuration of freezes: the server has no certificate yet")
	}
	wrote, err = w.Keeper.Keep(ctx, want)
	if wrote {
		w.Log.Info("Updated the webhook configuration of freezes for the policies", "webhooks", len(want.Webhooks))
	}
	return wrote, err
}

// configuration returns the wanted configuration with a webhook for probes, or nil if no configuration is wanted.
func (w *ConfigurationWriter) configuration(now time.Time) *admissionregistrationv1.ValidatingWebhookConfiguration {
	rules := w.rules(now)
	scope := w.Scope
	scope.Namespaces = w.namespaces(now)
	config := register.FreezeConfiguration(w.Server.Client(register.JudgePath), rules, scope)
	if config != nil {
		config.Webhooks = append(config.Webhooks, register.ProbeWebhook(w.Server.Client(register.ProbePath), config.Webhooks))
	}
	return config
}

// rules returns the kinds on which some policy denies actions, now or later, with the denied actions and their
// namespaces.
func (w *ConfigurationWriter) rules(now time.Time) []register.FreezeRule {
	set := w.World.Set()
	if rules, _ := set.Len(); rules == 0 {
		return nil
	}
	scaled := set.ScaleInUse(now)
	var list []register.FreezeRule
	for resource, k := range w.World.Snapshot().Adapters() {
		// A kind counts even if it is not served. Only the status of the adapter has this information, and a user with the
		// right to write the status must not be able to end a freeze. Rules for unserved kinds do no harm.
		if k.Compiled == nil {
			continue
		}
		use, governed := set.InUse(k.GroupKind, w.World.Scope().IsClusterScoped(k.GroupKind), now), freeze.Use{}
		if k.Compiled.CanGovern() {
			governed = scaled
		}
		list = append(list, rulesOf(register.FreezeRule{
			Group: resource.Group, Resource: resource.Resource, Versions: k.Compiled.Versions(), Subresources: k.Compiled.Subresources(),
		}, use, governed)...)
	}
	return append(list, resizes(scaled)...)
}

// resizes returns the rules for in-place changes of pods, in all namespaces in which some policy denies Scale. An
// in-place change counts as a Scale of the pods' owner.
func resizes(scaled freeze.Use) (list []register.FreezeRule) {
	pods := register.FreezeRule{Resource: "pods", Versions: []string{"v1"}, Resize: true}
	if scaled.Everywhere != 0 {
		list = append(list, pods)
	}
	for ns := range scaled.In {
		pods.Namespaces = []string{ns}
		list = append(list, pods)
	}
	return list
}

// rulesOf returns the rules of a kind. use has the actions denied on the kind, everywhere and in some namespaces.
// governed has the same for the targets that objects of the kind scale.
func rulesOf(kind register.FreezeRule, use, governed freeze.Use) (list []register.FreezeRule) {
	kind.Actions, kind.Governs = use.Everywhere, governed.Everywhere != 0
	if kind.Actions != 0 || kind.Governs {
		list = append(list, kind)
	}
	add := func(ns string, actions workload.Change, governs bool) {
		kind.Namespaces, kind.Actions, kind.Governs = []string{ns}, actions, governs
		list = append(list, kind)
	}
	for ns, actions := range use.In {
		add(ns, actions, governed.In[ns] != 0)
	}
	for ns := range governed.In {
		if use.In[ns] == 0 {
			add(ns, 0, true)
		}
	}
	return list
}

// namespaces returns the failure policy for changes of namespaces' labels. It is Fail while some policy guards the
// labels. It is Ignore if a policy may guard them later, or if an exception selects namespaces by labels. It is empty
// otherwise.
func (w *ConfigurationWriter) namespaces(now time.Time) admissionregistrationv1.FailurePolicyType {
	set := w.World.Set()
	guarded, _ := set.GuardsNamespaces(now)
	switch {
	case guarded:
		return admissionregistrationv1.Fail
	case slices.ContainsFunc(set.Rules(), func(r *freeze.Rule) bool { return !r.Over(now) && r.ByNamespaceLabels() }),
		slices.ContainsFunc(set.Exceptions(), func(e *freeze.Exception) bool { return e.ByNamespaceLabels(now) }):
		return admissionregistrationv1.Ignore
	default:
		return ""
	}
}

var _ freezeadmission.Freezes = (*world.World)(nil)

// clockCheck is the interval of checking the clock during a wait for an instant. A timer alone measures elapsed time,
// and fires too late if the clock was set forward or the machine was suspended.
const clockCheck = time.Second

// follow calls look after the world is loaded, and then after each change of an input of verdicts, until the context
// ends. It also calls look after each value of edited, after the pause returned by look, and at the returned instant.
// Each call of look uses a single instant. With two reads of the clock, a period that ends between them would be
// missed.
func follow(ctx context.Context, w *world.World, c clock.WithTicker, edited <-chan struct{},
	look func(now time.Time) (pause time.Duration, at time.Time)) {
	changed := w.Listen()
	select {
	case <-ctx.Done():
		return
	case <-w.Loaded():
	}
	for ctx.Err() == nil {
		pause, at := look(c.Now())
		wait(ctx, c, pause, at, changed, edited)
	}
}

// wait returns after the pause, at the instant, after a change, or when the context ends. It ignores a zero pause, a
// zero instant and a nil channel.
func wait(ctx context.Context, c clock.WithTicker, pause time.Duration, at time.Time, changed, edited <-chan struct{}) {
	var due, check, over <-chan time.Time
	if !at.IsZero() {
		timer := c.NewTimer(at.Sub(c.Now()))
		defer timer.Stop()
		ticker := time.NewTicker(clockCheck)
		defer ticker.Stop()
		due, check = timer.C(), ticker.C
	}
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-check:
			if !c.Now().Before(at) {
				return
			}
		case <-due:
			return
		case <-over:
			return
		case <-changed:
			return
		case <-edited:
			return
		}
	}
}
