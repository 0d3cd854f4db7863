package adapters

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/status"
)

// rightsRecheck is the interval of checking missing rights. RBAC has no watch for a client's own rights.
const rightsRecheck = 10 * time.Second

// suspicionPause is the shortest time between two checks of an adapter's rights because of forbidden writes. Quotas
// and admission policies forbid writes too, and checks of rights do not help against them.
const suspicionPause = 5 * time.Second

// duplicateKind is the reason of the condition Accepted if an older adapter has the same kind.
const duplicateKind = "DuplicateKind"

// finding is the result of an adapter's checks: conditions in order, and whether the kind can be used.
type finding struct {
	status     v1alpha1.AdapterStatus
	generation int64
	now        metav1.Time
	compiled   *adapter.Adapter
	// form identifies the input of the compilation: the form of the adapter, and the keys read and set by policies.
	form   string
	served inspect.Served
	// loses describes the fields that writes remove from objects. Empty means no fields.
	loses string
	// failed is the type of the first false condition.
	failed string
	// unsure is the type of the first condition that could not be checked, because the API server did not answer.
	unsure string
	// releasing is true if the adapter is being deleted.
	releasing bool
	// hidden is true if the kind is defined but not served yet.
	hidden bool
	// listing is the remaining time for which the first list of objects is not reported as under way.
	listing time.Duration
	again   time.Duration
}

// checks are the successful checks of one form of an adapter.
type checks struct {
	form   string
	served inspect.Served
	loses  string
	status v1alpha1.AdapterStatus
}

func (f *finding) set(kind string, ok bool, reason, message string) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: status.Truncate(message, 2048),
		ObservedGeneration: f.generation, LastTransitionTime: f.now}
	if ok {
		c.Status = metav1.ConditionTrue
	} else if f.failed == "" {
		f.failed = kind
	}
	meta.SetStatusCondition(&f.status.Conditions, c)
}

// cannotTell records that a condition could not be checked. The argument again is the time until the next attempt.
func (f *finding) cannotTell(kind, reason string, err error, again time.Duration) {
	f.set(kind, false, reason, err.Error())
	f.again = again
	if f.unsure == "" {
		f.unsure = kind
	}
}

// skip marks the conditions after a failed one as not checked.
func (f *finding) skip(kinds ...string) {
	for _, kind := range kinds {
		meta.SetStatusCondition(&f.status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: "NotChecked",
			Message: "comes after " + f.failed, ObservedGeneration: f.generation, LastTransitionTime: f.now})
	}
}

func (c *Controller) newFinding(a *v1alpha1.Adapter) *finding {
	f := &finding{status: *a.Status.DeepCopy(), generation: a.Generation, now: metav1.NewTime(c.Clock.Now()),
		releasing: !a.DeletionTimestamp.IsZero()}
	f.status.ObservedGeneration, f.status.MissingRules, f.status.UnknownPaths, f.status.LeftOut = a.Generation, "", nil, nil
	return f
}

// recall sets the results of earlier checks, which need not be repeated.
func (f *finding) recall(passed *checks) {
	f.served, f.loses = passed.served, passed.loses
	f.status.Capabilities, f.status.UnknownPaths = passed.status.Capabilities, passed.status.UnknownPaths
	f.status.LeftOut = passed.status.LeftOut
	f.status.Version, f.status.Resource = passed.status.Version, passed.status.Resource
	for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionServed, v1alpha1.ConditionSchemaMatched,
		v1alpha1.ConditionAuthorized} {
		if condition := meta.FindStatusCondition(passed.status.Conditions, kind); condition != nil {
			f.set(kind, true, condition.Reason, condition.Message)
		}
	}
}

// checkAndUse checks an adapter and uses its kind accordingly. Successful checks are repeated only after a change of
// their inputs: the adapter, its API group, or an obstacle.
func (c *Controller) checkAndUse(ctx context.Context, a *v1alpha1.Adapter) (*finding, error) {
	form := formOf(a)
	c.mu.RLock()
	known, round := c.checked[a.Name], c.round
	c.mu.RUnlock()
	if known != nil && known.form == form {
		// The keys read by policies may have changed since the last compilation, so the adapter is compiled again.
		if compiled, form, errs := c.compile(a, known.status.LeftOut); len(errs) == 0 {
			f := c.newFinding(a)
			f.compiled, f.form = compiled, form
			f.recall(known)
			return f, c.use(ctx, a, f)
		}
	}
	f := c.check(ctx, a)
	if f.failed == "" {
		c.rememberChecks(a.Name, &checks{form: form, served: f.served, loses: f.loses, status: *f.status.DeepCopy()}, round)
	}
	return f, c.use(ctx, a, f)
}

// rememberChecks stores successful checks, unless an input may have changed since they began. round is the round at
// their beginning.
func (c *Controller) rememberChecks(name string, passed *checks, round int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.round == round {
		c.checked[name] = passed
	}
}

// forgetChecks drops the stored checks of an adapter. Checks that are running are not stored afterwards.
func (c *Controller) forgetChecks(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.checked, name)
	c.round++
}

// Forbidden queues the adapter of a kind for new checks after a forbidden write, because Flyball may have lost
// rights.
func (c *Controller) Forbidden(k *decide.Kind) { c.suspect(k.Adapter.Name()) }

// suspect queues an adapter for new checks because rights may be missing. The API server sends no event about removed
// rights.
func (c *Controller) suspect(name string) {
	now := time.Now()
	c.mu.Lock()
	recently := now.Sub(c.suspected[name]) < suspicionPause
	if !recently {
		c.suspected[name] = now
		delete(c.checked, name)
		c.round++
	}
	c.mu.Unlock()
	if !recently {
		c.requests.Add(controller.Named(name))
	}
}

// check runs the checks in order. Each check needs the result of the previous check.
func (c *Controller) check(ctx context.Context, a *v1alpha1.Adapter) *finding {
	f := c.newFinding(a)
	if !c.accept(ctx, a, f) {
		c.checkAbsence(ctx, a, f)
		f.skip(v1alpha1.ConditionSchemaMatched, v1alpha1.ConditionAuthorized, v1alpha1.ConditionWatching)
		return f
	}
	if !c.serve(ctx, a, f) {
		f.skip(v1alpha1.ConditionSchemaMatched, v1alpha1.ConditionAuthorized, v1alpha1.ConditionWatching)
		return f
	}
	if c.speak(ctx, f) {
		c.matchSchema(ctx, a, f)
	}
	c.authorize(ctx, f)
	if f.failed != "" {
		f.skip(v1alpha1.ConditionWatching)
	}
	return f
}

// compile compiles the adapter, without some optional items, for the keys currently read and set by policies. form identifies
// the adapter, the items and the keys.
func (c *Controller) compile(a *v1alpha1.Adapter, leftOut []string) (compiled *adapter.Adapter, form string, errs field.ErrorList) {
	keys := c.World.Snapshot().Keys(a.Spec.Target.GroupKind())
	compiled, errs = adapter.Compile(a.Name, adapter.Without(a.Spec, leftOut), keys)
	return compiled, fmt.Sprintf("%s %v %+v", formOf(a), leftOut, keys), errs
}

// accept compiles the adapter and checks that no older adapter has the same kind.
func (c *Controller) accept(ctx context.Context, a *v1alpha1.Adapter, f *finding) bool {
	compiled, form, errs := c.compile(a, nil)
	if len(errs) > 0 {
		f.set(v1alpha1.ConditionAccepted, false, "InvalidSpec", errs.ToAggregate().Error())
		return false
	}
	var all v1alpha1.AdapterList
	if err := c.Client.List(ctx, &all); err != nil {
		f.cannotTell(v1alpha1.ConditionAccepted, "Unknown", err, time.Second)
		return false
	}
	for i := range all.Items {
		o := &all.Items[i]
		if o.Name == a.Name || o.Spec.Target.GroupKind() != a.Spec.Target.GroupKind() {
			continue
		}
		if o.CreationTimestamp.Before(&a.CreationTimestamp) || (o.CreationTimestamp.Equal(&a.CreationTimestamp) && o.Name < a.Name) {
			f.set(v1alpha1.ConditionAccepted, false, duplicateKind, fmt.Sprintf("the adapter %s speaks of the same kind and is older", o.Name))
			return false
		}
	}
	f.compiled, f.form = compiled, form
	f.status.Capabilities = compiled.Capabilities()
	f.set(v1alpha1.ConditionAccepted, true, "Compiled", "every path and rule compiles")
	return true
}

// servedRecheck is the pause before a missing kind is checked again. A starting API server answers before it knows
// all kinds and versions, and sends no event when it knows them.
const servedRecheck = 5 * time.Second

// whetherServed asks the API server whether and how it serves the kind. A kind with a CustomResourceDefinition counts
// as gone only after the definition is deleted.
func (c *Controller) whetherServed(ctx context.Context, a *v1alpha1.Adapter) (inspect.Served, error) {
	t := a.Spec.Target
	served, err := c.inspector.ServeDefined(ctx, a.Name, t.Group, t.Kind, t.Versions)
	if apierrors.IsForbidden(err) && !controllerutil.ContainsFinalizer(a, v1alpha1.FinalizerRestore) &&
		c.World.Snapshot().InUse(t.GroupKind()) == nil {
		return c.inspector.Serve(ctx, t.Group, t.Kind, t.Versions) // no object was changed, so the definition does not matter
	}
	return served, err
}

// serve finds the version to use and checks the adapter's name against the plural.
func (c *Controller) serve(ctx context.Context, a *v1alpha1.Adapter, f *finding) bool {
	served, err := c.whetherServed(ctx, a)
	if err != nil {
		f.hidden = errors.Is(err, inspect.ErrHidden)
		f.cannotTell(v1alpha1.ConditionServed, "Unknown", err, servedRecheck)
		return false
	}
	if !served.Found && !served.Absence.IsGone() {
		f.again = servedRecheck
	}
	f.served = served
	f.status.Version, f.status.Resource = served.GVK.Version, served.GVR.Resource
	switch want := nameFor(served.GVR); {
	case !served.Found:
		f.set(v1alpha1.ConditionServed, false, string(served.Absence), served.Message)
	case want != a.Name:
		f.set(v1alpha1.ConditionAccepted, false, "WrongName",
			fmt.Sprintf("metadata.name must be %s, <plural>.<group>, because a kind has one adapter", want))
		f.set(v1alpha1.ConditionServed, true, "Served", served.Message)
	case f.compiled.UsesScale() && !served.HasScale:
		f.set(v1alpha1.ConditionServed, false, "NoScaleSubresource",
			fmt.Sprintf("spec.scale uses via: Scale, but %s %s has no /scale", served.GVK.GroupVersion(), served.GVK.Kind))
	default:
		f.set(v1alpha1.ConditionServed, true, "Served", served.Message)
	}
	return f.failed == ""
}

// nameFor returns the required name of a resource's adapter.
func nameFor(resource schema.GroupVersionResource) string {
	return strings.TrimSuffix(resource.Resource+"."+resource.Group, ".")
}

// checkAbsence checks whether the kind of an adapter that was not accepted is gone. If it is gone, nothing is left to
// restore.
func (c *Controller) checkAbsence(ctx context.Context, a *v1alpha1.Adapter, f *finding) {
	served, err := c.whetherServed(ctx, a)
	if err != nil || !served.Absence.IsGone() {
		f.skip(v1alpha1.ConditionServed)
		return
	}
	f.served = served
	f.set(v1alpha1.ConditionServed, false, string(served.Absence), served.Message)
}

// speak chooses the served version in which the adapter reads and writes.
func (c *Controller) speak(ctx context.Context, f *finding) bool {
	served, loses, err := c.inspector.Lossless(ctx, f.served, f.compiled)
	if err != nil {
		f.cannotTell(v1alpha1.ConditionSchemaMatched, "SchemaUnavailable", err, time.Second)
		return false
	}
	if served.GVK != f.served.GVK {
		f.set(v1alpha1.ConditionServed, true, "Served", served.Message+", the version in which objects are stored")
	}
	f.served, f.loses = served, loses
	f.status.Version = served.GVK.Version
	return true
}

func (c *Controller) matchSchema(ctx context.Context, a *v1alpha1.Adapter, f *finding) {
	report, err := c.inspector.MatchSchema(ctx, f.served.GVK, f.compiled.Uses())
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
	if !c.leaveOut(a, f, report.LeftOut) {
		return
	}
	message := "every path was found in the live schema"
	if len(report.Unknown) > 0 {
		message = fmt.Sprintf("no path contradicts the live schema; %d are in parts with open fields", len(report.Unknown))
	}
	for i, idle := range report.Idle {
		if i == 0 {
			message = "every needed path was found in the live schema. Without effect: "
		} else {
			message += "; "
		}
		message += idle.String()
	}
	if f.loses != "" {
		f.set(v1alpha1.ConditionSchemaMatched, true, "FieldsMayBeLost", f.loses)
		return
	}
	f.set(v1alpha1.ConditionSchemaMatched, true, "Matched", message)
}

// leaveOut compiles the adapter again without the optional items with fields missing in the live schema.
func (c *Controller) leaveOut(a *v1alpha1.Adapter, f *finding, items []string) bool {
	if len(items) == 0 {
		return true
	}
	compiled, form, errs := c.compile(a, items)
	if len(errs) > 0 {
		f.set(v1alpha1.ConditionSchemaMatched, false, "PathNotInSchema",
			fmt.Sprintf("without %s: %v", strings.Join(items, ", "), errs.ToAggregate()))
		return false
	}
	f.compiled, f.form, f.status.LeftOut, f.status.Capabilities = compiled, form, items, compiled.Capabilities()
	return true
}

func (c *Controller) authorize(ctx context.Context, f *finding) {
	missing, err := c.inspector.Authorize(ctx, inspect.RulesOf(f.compiled, f.served.GVR.GroupResource()))
	switch {
	case err != nil:
		f.cannotTell(v1alpha1.ConditionAuthorized, "Unknown", err, 2*time.Second)
	case len(missing) > 0:
		f.status.MissingRules = inspect.RulesLine(missing)
		f.set(v1alpha1.ConditionAuthorized, false, "MissingRules", "add to a ClusterRole of Flyball the rules "+f.status.MissingRules)
		f.again = rightsRecheck
	default:
		f.set(v1alpha1.ConditionAuthorized, true, "Authorized", "Flyball holds every right the adapter needs")
	}
}
