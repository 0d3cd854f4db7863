package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy/target"
	"flyball.dev/flyball/engine/policy/when"
)

// Object is an API object of a policy kind.
type Object interface {
	metav1.Object
	runtime.Object
}

// Context is what compiling a policy needs to know besides its spec.
type Context struct {
	// Scope is what selection needs to know of the cluster.
	Scope target.Scope
	// Calendars finds the calendars that a spec names. Nil: they are not checked.
	Calendars when.Calendars
	// Kinds says what is known of an adapted kind, false if that is nothing (yet): what depends on it is then not checked. Nil:
	// nothing is known of any kind.
	Kinds func(schema.GroupKind) (AdaptedKind, bool)
}

// Kind looks up what is known of a kind.
func (c Context) Kind(gk schema.GroupKind) (AdaptedKind, bool) {
	if c.Kinds == nil {
		return AdaptedKind{}, false
	}
	return c.Kinds(gk)
}

// AdaptedKind is what compiling a policy may want to know of a kind that an adapter speaks of.
type AdaptedKind struct {
	// Min and Max are the lowest bounds that the kind accepts; nil where it has no such bound.
	Min, Max *int64
	// Scales is true where objects of the kind have a count of their own.
	Scales bool
	// Governs is true where objects of the kind own the replicas of other objects.
	Governs bool
	// Version is the API version in use; empty: not known.
	Version string
	// Refers says whether a manifest of the kind, complete with its name, names the object that it governs; nil: not known.
	Refers func(manifest []byte) bool
}

// Adapted gives what an adapter says of its kind; version is the API version in use, empty if that is not known.
func Adapted(a *adapter.Adapter, version string) AdaptedKind {
	k := AdaptedKind{Scales: a.Can(v1alpha1.CapabilityScale), Governs: a.CanGovern(), Refers: a.Refers, Version: version}
	k.Min, k.Max = a.Floors()
	return k
}

// Kind is one row of the table of policy kinds (package kinds): all that the engine knows of a kind of policy besides its
// compiled form. Functions that are nil have the answer that their comment gives.
type Kind struct {
	// Name and Resource are those of the API: ClusterSchedule, clusterschedules.
	Name, Resource string
	// ClusterScoped is true where objects of the kind live outside namespaces.
	ClusterScoped bool
	// New makes an empty object of the kind, NewList an empty list of them.
	New     func() Object
	NewList func() runtime.Object
	// Compile compiles an object. With errors, the policy is Broken.
	Compile func(obj Object, ctx Context) (*Policy, field.ErrorList)
	// Status is the status that all policies share. Nil: objects of the kind have none, and act on no target.
	Status func(obj Object) *v1alpha1.PolicyStatus
	// Orphans says whether what an object has changed stays when it is deleted. Nil: never.
	Orphans func(obj Object) bool
	// Calendars lists the calendars that an object names. Nil: none.
	Calendars func(obj Object) []string
	// Kinds lists the kinds on which the validity of an object depends. Nil: none.
	Kinds func(obj Object) []schema.GroupKind
	// ChangesNothing says whether an object never changes a target, so that it needs no finalizer. Nil: no object is like that.
	ChangesNothing func(obj Object) bool
}

// NewKind makes a row for the API type T and its list type L, which lives outside namespaces if it is ClusterScoped.
func NewKind[T, L any, PT interface {
	*T
	Object
}, PL interface {
	*L
	runtime.Object
}](name, resource string, compile func(PT, Context) (*Policy, field.ErrorList)) Kind {
	return Kind{
		Name: name, Resource: resource,
		New:     func() Object { return PT(new(T)) },
		NewList: func() runtime.Object { return PL(new(L)) },
		Compile: func(obj Object, ctx Context) (*Policy, field.ErrorList) { return compile(obj.(PT), ctx) },
	}
}

// Acts says whether policies of the kind act on targets.
func (k Kind) Acts() bool { return k.Status != nil }

// OrphansTargets says whether what the object has changed stays when it is deleted.
func (k Kind) OrphansTargets(obj Object) bool { return k.Orphans != nil && k.Orphans(obj) }

// CalendarsOf lists the calendars that the object names.
func (k Kind) CalendarsOf(obj Object) []string {
	if k.Calendars == nil {
		return nil
	}
	return k.Calendars(obj)
}

// KindsOf lists the kinds on which the validity of the object depends.
func (k Kind) KindsOf(obj Object) []schema.GroupKind {
	if k.Kinds == nil {
		return nil
	}
	return k.Kinds(obj)
}

// NeedsFinalizer says whether the object may change targets, so that it must not go before everything is given back.
func (k Kind) NeedsFinalizer(obj Object) bool {
	return k.Acts() && (k.ChangesNothing == nil || !k.ChangesNothing(obj))
}
