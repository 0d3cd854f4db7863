package policy

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/policy/times"
)

// Object is an API object of a policy kind.
type Object interface {
	metav1.Object
	runtime.Object
}

// Context is the input of compiling a policy besides its spec.
type Context struct {
	// Scope has the facts about the cluster for selections.
	Scope selector.Scope
	// Calendars returns the calendars named by a spec. Nil: calendars are not checked.
	Calendars times.Calendars
	// Lost returns the unreadable events of a calendar. Nil: no event is lost.
	Lost func(name string) times.Loss
	// Kinds returns the properties of an adapted kind; false: unknown (yet), and checks that depend on them are
	// skipped. Nil: all kinds are unknown.
	Kinds func(schema.GroupKind) (AdaptedKind, bool)
	// Stored is true for an object already in the API server. Rules that only make messages clearer are checked
	// at apply and not for stored objects: a policy that protects something must not stop because of a new
	// version of Flyball.
	Stored bool
	// AuthorsAsked is true if the rights of a policy's author are checked. Without the check, fields that need the verb
	// override are refused.
	AuthorsAsked bool
}

// LostOf returns the unreadable events of a calendar.
func (c Context) LostOf(name string) times.Loss {
	if c.Lost == nil {
		return times.Loss{}
	}
	return c.Lost(name)
}

// Kind returns the properties of a kind.
func (c Context) Kind(gk schema.GroupKind) (AdaptedKind, bool) {
	if c.Kinds == nil {
		return AdaptedKind{}, false
	}
	return c.Kinds(gk)
}

// RefuseKinds returns an error for each kind that is known to be unfit. why is the reason in the error.
func (c Context) RefuseKinds(kinds []schema.GroupKind, at *field.Path, unfit func(AdaptedKind) bool, why string) field.ErrorList {
	var errs field.ErrorList
	for _, gk := range kinds {
		if known, ok := c.Kind(gk); ok && unfit(known) {
			errs = append(errs, field.Invalid(at, gk.String(), why))
		}
	}
	return errs
}

// OneOf returns an error for a value not in the list; empty stands for the default.
func OneOf[T ~string](at *field.Path, given T, of ...T) field.ErrorList {
	if given == "" || slices.Contains(of, given) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, given, of)}
}

// AdaptedKind has the properties of an adapter's kind used to compile policies.
type AdaptedKind struct {
	// Min and Max are the lowest bounds accepted by the kind; nil: the kind has no such bound.
	Min, Max *int64
	// Scales is true if objects of the kind have a count of their own.
	Scales bool
	// Governs is true if objects of the kind are autoscalers of other objects.
	Governs bool
	// Requests is true if the requests of the objects' pods are known.
	Requests bool
	// HeedsCosts is true if the kind's controller deletes pods with a lower deletion cost first.
	HeedsCosts bool
	// Version is the API version in use; empty: unknown.
	Version string
	// Refers reports whether a complete manifest of the kind has the name of its scale target; nil: unknown.
	Refers func(manifest []byte) bool
}

// Adapted returns the properties of an adapter's kind; version is the API version in use, empty if unknown.
func Adapted(a *adapter.Adapter, version string) AdaptedKind {
	k := AdaptedKind{Scales: a.Can(v1alpha1.CapabilityScale), Governs: a.CanGovern(), Requests: a.Can(v1alpha1.CapabilityResources),
		HeedsCosts: a.Can(v1alpha1.CapabilityDeletionCost), Refers: a.Refers, Version: version}
	k.Min, k.Max = a.Floors()
	return k
}

// Row is one row of the table of policy kinds (package kinds): all knowledge of the engine about a policy kind besides
// compiled policies.
type Row struct {
	// Name, Resource and Short are the names in the API: ClusterSchedule, clusterschedules, fcsch.
	Name, Resource, Short string
	// ClusterScoped is true for a cluster-scoped kind.
	ClusterScoped bool
	// MostInForce is the largest number of objects of the kind in a namespace that have not ended; 0: no limit.
	MostInForce int
	// Restricts is true if objects of the kind restrict changes of workloads. Then the role edit grants no right to
	// write them (the role admin does), and the deletion of active objects is judged at admission.
	Restricts bool
	// New returns an empty object of the kind. NewList returns an empty list of the kind.
	New     func() Object
	NewList func() runtime.Object
	// Compile compiles an object. With errors, the policy is Broken.
	Compile func(obj Object, ctx Context) (*Policy, field.ErrorList)
	// Meta returns the parts of an object used by the engine.
	Meta func(obj Object) Meta
}

// Meta are the parts of a policy object used by the engine besides its compiled form.
type Meta struct {
	// Status is the common part of the object's status. Nil: objects of the kind act on no target.
	Status *v1alpha1.PolicyStatus
	// Order has the open waves in the object's status. Nil: the kind has no order.
	Order **v1alpha1.OrderStatus
	// ChangesNothing is true if the object never changes a target and so needs no finalizer.
	ChangesNothing bool
	// Ends is the instant from which the object has no effect any more; zero: never, or not known yet. The manager deletes the
	// object a day later.
	Ends time.Time
	// Orphan is true if changed values stay when the object is deleted.
	Orphan bool
	// Calendars are the calendars named by the object.
	Calendars []string
	// Recalls is the part of the object's status on which its compiled form depends; nil: none.
	Recalls any
	// Kinds are the kinds on which the validity of the object depends.
	Kinds []schema.GroupKind
	// Rights returns the rights that the engine uses on behalf of the object. Nil: the engine uses no right for any object
	// of the kind.
	Rights func() []Right
}

// NewKind returns a row for the API type T and its list type L. Pair sets the names.
func NewKind[T, L any, PT interface {
	*T
	Object
}, PL interface {
	*L
	runtime.Object
}](compile func(PT, Context) (*Policy, field.ErrorList), parts func(PT) Meta) Row {
	return Row{
		New:     func() Object { return PT(new(T)) },
		NewList: func() runtime.Object { return PL(new(L)) },
		Compile: func(obj Object, ctx Context) (*Policy, field.ErrorList) { return compile(obj.(PT), ctx) },
		Meta:    func(obj Object) Meta { return parts(obj.(PT)) },
	}
}

// Pair returns the two rows of a policy, namespaced and cluster-scoped, with their names.
func Pair(name, resource, short string, namespaced, cluster Row) []Row {
	namespaced.Name, namespaced.Resource, namespaced.Short = name, resource, short
	cluster.Name, cluster.Resource, cluster.Short, cluster.ClusterScoped = "Cluster"+name, "cluster"+resource, "fc"+short[1:], true
	return []Row{namespaced, cluster}
}

// ActsOnTargets reports whether policies of the kind act on targets.
func (k Row) ActsOnTargets() bool { return k.Status(k.New()) != nil }

// Status returns the common part of the object's status; nil if the kind acts on no target.
func (k Row) Status(obj Object) *v1alpha1.PolicyStatus { return k.Meta(obj).Status }

// HasEnded reports whether an object has no effect any more at an instant.
func (k Row) HasEnded(obj Object, now time.Time) bool {
	ends := k.Meta(obj).Ends
	return !ends.IsZero() && !now.Before(ends)
}

// RightsOf returns the rights that the engine uses on behalf of the object.
func (k Row) RightsOf(obj Object) []Right {
	rights := k.Meta(obj).Rights
	if rights == nil {
		return nil
	}
	return rights()
}

// NeedsFinalizer reports whether the object may change targets, so it must not be removed before
// everything is restored.
func (k Row) NeedsFinalizer(obj Object) bool {
	parts := k.Meta(obj)
	return parts.Status != nil && !parts.ChangesNothing
}
