package reconcile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/inspect"
)

const (
	// syncing is how soon a starting watch is looked at again.
	syncing = 200 * time.Millisecond
	// rightsRecheck is how often missing rights are looked for again: RBAC has no watch for "may I now".
	rightsRecheck = 10 * time.Second
	// idleAfter is how long a kind must be without any ledger before its adapter loses the finalizer.
	idleAfter = 30 * time.Second
)

// finding is what the checks of an adapter came to: conditions in order, and whether the kind can be used.
type finding struct {
	status     v1alpha1.AdapterStatus
	generation int64
	now        metav1.Time
	compiled   *adapter.Adapter
	served     inspect.Served
	// failed is the first condition that does not hold.
	failed string
	// unsure is the first condition that could not be looked at, because the API server gave no answer.
	unsure string
	again  time.Duration
}

func (f *finding) set(kind string, ok bool, reason, message string) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: truncate(message, 2048),
		ObservedGeneration: f.generation, LastTransitionTime: f.now}
	if ok {
		c.Status = metav1.ConditionTrue
	} else if f.failed == "" {
		f.failed = kind
	}
	meta.SetStatusCondition(&f.status.Conditions, c)
}

// cannotTell says that a condition could not be looked at, and when to try again.
func (f *finding) cannotTell(kind, reason string, err error, again time.Duration) {
	f.set(kind, false, reason, err.Error())
	f.again = again
	if f.unsure == "" {
		f.unsure = kind
	}
}

// skip says of the conditions that come after a failed one that they were not looked at.
func (f *finding) skip(kinds ...string) {
	for _, kind := range kinds {
		meta.SetStatusCondition(&f.status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: "NotChecked",
			Message: "comes after " + f.failed, ObservedGeneration: f.generation, LastTransitionTime: f.now})
	}
}

// adapterReconciler keeps kinds in use in step with Adapter objects.
type adapterReconciler struct{ e *Engine }

// Reconcile looks at one adapter.
func (r adapterReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	again, err := r.e.reconcileAdapter(ctx, req.Name)
	return reconcile.Result{RequeueAfter: again}, err
}

// reconcileAdapter checks an adapter, uses, blocks or drops its kind accordingly, and writes its status.
func (e *Engine) reconcileAdapter(ctx context.Context, name string) (time.Duration, error) {
	e.adapterMu.Lock()
	defer e.adapterMu.Unlock()
	var a v1alpha1.Adapter
	if err := e.client.Get(ctx, client.ObjectKey{Name: name}, &a); err != nil {
		if apierrors.IsNotFound(err) {
			e.dropKind(name)
			e.metrics.forgetAdapter(name)
			return 0, e.nudgeDuplicates(ctx)
		}
		return 0, fmt.Errorf("get the adapter %s: %w", name, err)
	}
	if !a.DeletionTimestamp.IsZero() {
		return e.releaseAdapter(ctx, &a)
	}
	f := &finding{}
	if form, round := formOf(&a), e.adapters.currentRound(); e.adapters.settledForm(name) != form {
		f = e.examine(ctx, &a)
		if err := e.act(ctx, &a, f); err != nil {
			return 0, err
		}
		if err := e.tellAdapter(ctx, &a, f); err != nil {
			return 0, err
		}
		if f.failed == "" {
			e.adapters.settle(name, form, round)
		}
	}
	if err := e.remark(ctx, &a); err != nil {
		return 0, err
	}
	if idle := e.unmark(ctx, &a); idle > 0 && (f.again == 0 || idle < f.again) {
		f.again = idle
	}
	return f.again, nil
}

// nudgeDuplicates has the adapters looked at again that had to stand back for another one of their kind.
func (e *Engine) nudgeDuplicates(ctx context.Context) error {
	var all v1alpha1.AdapterList
	if err := e.client.List(ctx, &all); err != nil {
		return fmt.Errorf("list adapters: %w", err)
	}
	for i := range all.Items {
		c := meta.FindStatusCondition(all.Items[i].Status.Conditions, v1alpha1.ConditionAccepted)
		if c != nil && c.Reason == duplicateKind {
			e.nudges.adapter(all.Items[i].Name)
		}
	}
	return nil
}

// formOf tells the forms of an adapter apart.
func formOf(a *v1alpha1.Adapter) string { return fmt.Sprintf("%s/%d", a.UID, a.Generation) }

// duplicateKind is the reason of Accepted where an older adapter speaks of the same kind.
const duplicateKind = "DuplicateKind"

// examine runs the checks in order; each needs the one before.
func (e *Engine) examine(ctx context.Context, a *v1alpha1.Adapter) *finding {
	f := &finding{status: *a.Status.DeepCopy(), generation: a.Generation, now: metav1.NewTime(e.opts.Clock.Now())}
	f.status.ObservedGeneration, f.status.MissingRules, f.status.UnknownPaths = a.Generation, "", nil
	if !e.accept(ctx, a, f) {
		e.absent(ctx, a, f)
		f.skip(v1alpha1.ConditionSchemaMatched, v1alpha1.ConditionAuthorized, v1alpha1.ConditionWatching)
		return f
	}
	if !e.serve(ctx, a, f) {
		f.skip(v1alpha1.ConditionSchemaMatched, v1alpha1.ConditionAuthorized, v1alpha1.ConditionWatching)
		return f
	}
	e.matchSchema(ctx, f)
	e.authorize(ctx, f)
	if f.failed != "" {
		f.skip(v1alpha1.ConditionWatching)
	}
	return f
}

// accept compiles the adapter and makes sure that it is the only one of its kind: the oldest is.
func (e *Engine) accept(ctx context.Context, a *v1alpha1.Adapter, f *finding) bool {
	compiled, errs := adapter.Compile(a.Name, a.Spec, e.adapters.keys())
	if len(errs) > 0 {
		f.set(v1alpha1.ConditionAccepted, false, "InvalidSpec", errs.ToAggregate().Error())
		return false
	}
	var all v1alpha1.AdapterList
	if err := e.client.List(ctx, &all); err != nil {
		f.cannotTell(v1alpha1.ConditionAccepted, "Unknown", err, time.Second)
		return false
	}
	for i := range all.Items {
		o := &all.Items[i]
		if o.Name == a.Name || o.Spec.Target.Group != a.Spec.Target.Group || o.Spec.Target.Kind != a.Spec.Target.Kind {
			continue
		}
		if o.CreationTimestamp.Before(&a.CreationTimestamp) || (o.CreationTimestamp.Equal(&a.CreationTimestamp) && o.Name < a.Name) {
			f.set(v1alpha1.ConditionAccepted, false, duplicateKind, fmt.Sprintf("the adapter %s speaks of the same kind and is older", o.Name))
			return false
		}
	}
	f.compiled = compiled
	f.status.Capabilities = compiled.Capabilities()
	f.set(v1alpha1.ConditionAccepted, true, "Compiled", "every path and rule compiles")
	return true
}

// serve finds the version to use and checks the name, which follows from the plural.
func (e *Engine) serve(ctx context.Context, a *v1alpha1.Adapter, f *finding) bool {
	t := a.Spec.Target
	served, err := e.inspector.Serve(ctx, t.Group, t.Kind, t.Versions)
	if err != nil {
		f.cannotTell(v1alpha1.ConditionServed, "Unknown", err, 2*time.Second)
		return false
	}
	f.served = served
	f.status.Version, f.status.Resource = served.GVK.Version, served.GVR.Resource
	switch want := adapterName(served.GVR); {
	case !served.Found:
		f.set(v1alpha1.ConditionServed, false, string(served.Absence), served.Message)
	case want != a.Name:
		f.set(v1alpha1.ConditionAccepted, false, "WrongName", fmt.Sprintf("metadata.name must be %s, <plural>.<group>, so that a kind has one adapter", want))
		f.set(v1alpha1.ConditionServed, true, "Served", served.Message)
	case f.compiled.UsesScale() && !served.HasScale:
		f.set(v1alpha1.ConditionServed, false, "NoScaleSubresource",
			fmt.Sprintf("spec.scale uses via: Scale, but %s %s has no /scale", served.GVK.GroupVersion(), served.GVK.Kind))
	default:
		f.set(v1alpha1.ConditionServed, true, "Served", served.Message)
	}
	return f.failed == ""
}

// absent says of an adapter that is not accepted only whether its kind is gone: then there is nothing left to give back.
func (e *Engine) absent(ctx context.Context, a *v1alpha1.Adapter, f *finding) {
	t := a.Spec.Target
	served, err := e.inspector.Serve(ctx, t.Group, t.Kind, t.Versions)
	if err != nil || !isGone(served.Absence) {
		f.skip(v1alpha1.ConditionServed)
		return
	}
	f.served = served
	f.set(v1alpha1.ConditionServed, false, string(served.Absence), served.Message)
}

func (e *Engine) matchSchema(ctx context.Context, f *finding) {
	report, err := e.inspector.MatchSchema(ctx, f.served.GVK, f.compiled.Uses())
	if err != nil {
		f.cannotTell(v1alpha1.ConditionSchemaMatched, "SchemaUnavailable", err, time.Second)
		return
	}
	f.status.UnknownPaths = report.Unknown
	if !report.Matched() {
		lines := make([]string, len(report.Missing))
		for i, m := range report.Missing {
			lines[i] = m.String()
		}
		f.set(v1alpha1.ConditionSchemaMatched, false, "PathNotInSchema", strings.Join(lines, "; "))
		return
	}
	message := "every path was found in the live schema"
	if len(report.Unknown) > 0 {
		message = fmt.Sprintf("no path contradicts the live schema; %d lie where it leaves fields open", len(report.Unknown))
	}
	f.set(v1alpha1.ConditionSchemaMatched, true, "Matched", message)
}

func (e *Engine) authorize(ctx context.Context, f *finding) {
	missing, err := e.inspector.Authorize(ctx, inspect.RulesOf(f.compiled, f.served))
	switch {
	case err != nil:
		f.cannotTell(v1alpha1.ConditionAuthorized, "Unknown", err, 2*time.Second)
	case len(missing) > 0:
		f.status.MissingRules = inspect.RulesYAML(missing)
		f.set(v1alpha1.ConditionAuthorized, false, "MissingRules", "add to a ClusterRole of Flyball:\n"+f.status.MissingRules)
		f.again = rightsRecheck
	default:
		f.set(v1alpha1.ConditionAuthorized, true, "Authorized", "Flyball holds every right the adapter needs")
	}
}

// act uses the kind if every check holds. If one does not, a kind in use is blocked; one that is not served any more is
// dropped, for its objects are gone. While the API server gives no answer everything stays as it is.
func (e *Engine) act(ctx context.Context, a *v1alpha1.Adapter, f *finding) error {
	gk := schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}
	switch {
	case isGone(f.served.Absence):
		e.dropKind(a.Name)
		return nil
	case f.failed != "" && f.failed == f.unsure:
		return nil
	case f.failed != "":
		c := meta.FindStatusCondition(f.status.Conditions, f.failed)
		e.blockKind(gk, a.Name, fmt.Sprintf("the adapter %s is not ready (%s): %s", a.Name, f.failed, c.Message))
		return nil
	}
	inUse, err := e.useKind(ctx, a.Name, formOf(a), f.compiled, f.served)
	switch {
	case err != nil:
		return err
	case !inUse:
		message := "the first list of objects is under way"
		if at, err := e.watchError(a.Name); err != nil {
			message = fmt.Sprintf("at %s: %v", at.Format(time.RFC3339), err)
		}
		f.set(v1alpha1.ConditionWatching, false, "Syncing", message)
		f.again = syncing
	default:
		f.set(v1alpha1.ConditionWatching, true, "Synced", "the watch is in sync")
	}
	return nil
}

// watchError is the last error of an adapter's watch.
func (e *Engine) watchError(name string) (time.Time, error) {
	e.adapters.mu.RLock()
	defer e.adapters.mu.RUnlock()
	if r := e.adapters.running[name]; r != nil {
		return r.watch.Err()
	}
	return time.Time{}, nil
}

// tellAdapter sums the conditions up in Ready and writes the status, if anything in it has changed.
func (e *Engine) tellAdapter(ctx context.Context, a *v1alpha1.Adapter, f *finding) error {
	e.diagnose(a, f)
	failed := f.failed
	if failed == "" {
		f.set(v1alpha1.ConditionReady, true, "Ready", "in use")
	} else {
		c := meta.FindStatusCondition(f.status.Conditions, failed)
		f.set(v1alpha1.ConditionReady, false, c.Reason, c.Message)
	}
	gauge := e.metrics.ready.WithLabelValues(a.Name)
	gauge.Set(0)
	if failed == "" {
		gauge.Set(1)
	}
	return e.writeAdapterStatus(ctx, a, f.status)
}

func (e *Engine) writeAdapterStatus(ctx context.Context, a *v1alpha1.Adapter, status v1alpha1.AdapterStatus) error {
	if equality.Semantic.DeepEqual(a.Status, status) {
		return nil
	}
	before := a.DeepCopy()
	a.Status = status
	if err := e.client.Status().Patch(ctx, a, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of the adapter %s: %w", a.Name, err))
	}
	for _, p := range e.policiesOf(schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}) {
		e.rollup.Dirty(p)
	}
	return nil
}
