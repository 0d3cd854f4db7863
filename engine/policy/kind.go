package policy

import (
	"slices"

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
	// Stored is true for an object that the API server has already. What only makes messages less clear is refused at apply, and not
	// held against it: a rule that protects something must not stop to do so with a new version of Flyball.
	Stored bool
	// AuthorsAsked says that who writes a policy is asked for the rights that it takes. Where nobody is asked, what takes the verb
	// override is refused.
	AuthorsAsked bool
}

// Kind looks up what is known of a kind.
func (c Context) Kind(gk schema.GroupKind) (AdaptedKind, bool) {
	if c.Kinds == nil {
		return AdaptedKind{}, false
	}
	return c.Kinds(gk)
}

// RefuseKinds refuses the kinds that are known to be unfit, and says why they are.
func (c Context) RefuseKinds(kinds []schema.GroupKind, at *field.Path, unfit func(AdaptedKind) bool, why string) field.ErrorList {
	var errs field.ErrorList
	for _, gk := range kinds {
		if known, ok := c.Kind(gk); ok && unfit(known) {
			errs = append(errs, field.Invalid(at, gk.String(), why))
		}
	}
	return errs
}

// OneOf refuses a value that is not one of those there are; empty stands for the default.
func OneOf[T ~string](at *field.Path, given T, of ...T) field.ErrorList {
	if given == "" || slices.Contains(of, given) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, given, of)}
}

// AdaptedKind is what compiling a policy may want to know of a kind that an adapter speaks of.
type AdaptedKind struct {
	// Min and Max are the lowest bounds that the kind accepts; nil where it has no such bound.
	Min, Max *int64
	// Scales is true where objects of the kind have a count of their own.
	Scales bool
	// Governs is true where objects of the kind own the replicas of other objects.
	Governs bool
	// Requests is true where it is known what the pods of objects of the kind request.
	Requests bool
	// HeedsCosts is true where the controller of objects of the kind deletes pods of a lower deletion cost first.
	HeedsCosts bool
	// Version is the API version in use; empty: not known.
	Version string
	// Refers says whether a manifest of the kind, complete with its name, names the object that it governs; nil: not known.
	Refers func(manifest []byte) bool
}

// Adapted gives what an adapter says of its kind; version is the API version in use, empty if that is not known.
func Adapted(a *adapter.Adapter, version string) AdaptedKind {
	k := AdaptedKind{Scales: a.Can(v1alpha1.CapabilityScale), Governs: a.CanGovern(), Requests: a.Can(v1alpha1.CapabilityResources),
		HeedsCosts: a.Can(v1alpha1.CapabilityDeletionCost), Refers: a.Refers, Version: version}
	k.Min, k.Max = a.Floors()
	return k
}

// Kind is one row of the table of policy kinds (package kinds): all that the engine knows of a kind of policy besides its
// compiled form.
type Kind struct {
	// Name and Resource are those of the API: ClusterSchedule, clusterschedules.
	Name, Resource string
	// ClusterScoped is true where objects of the kind live outside namespaces.
	ClusterScoped bool
	// Restricts is true where objects of the kind restrict who may change workloads. So the role edit gives no right to write
	// them, the role admin does; and the deletion of those that act is judged at admission.
	Restricts bool
	// New makes an empty object of the kind, NewList an empty list of them.
	New     func() Object
	NewList func() runtime.Object
	// Compile compiles an object. With errors, the policy is Broken.
	Compile func(obj Object, ctx Context) (*Policy, field.ErrorList)
	// Parts takes an object apart.
	Parts func(obj Object) Parts
}

// Parts are what the engine reads of an object of a policy kind besides its compiled form.
type Parts struct {
	// Status is the part of the object's status that all policies share. Nil: objects of the kind act on no target.
	Status *v1alpha1.PolicyStatus
	// ChangesNothing is true where the object never changes a target, so that it needs no finalizer.
	ChangesNothing bool
	// Orphan is true where what the object has changed stays when it is deleted.
	Orphan bool
	// Calendars are the calendars that the object names.
	Calendars []string
	// Kinds are the kinds on which the validity of the object depends.
	Kinds []schema.GroupKind
	// Rights lists the rights that the engine uses because the object asks for it. Nil: none, whatever the object says.
	Rights func() []Right
}

// NewKind makes a row for the API type T and its list type L. Pair names it.
func NewKind[T, L any, PT interface {
	*T
	Object
}, PL interface {
	*L
	runtime.Object
}](compile func(PT, Context) (*Policy, field.ErrorList), parts func(PT) Parts) Kind {
	return Kind{
		New:     func() Object { return PT(new(T)) },
		NewList: func() runtime.Object { return PL(new(L)) },
		Compile: func(obj Object, ctx Context) (*Policy, field.ErrorList) { return compile(obj.(PT), ctx) },
		Parts:   func(obj Object) Parts { return parts(obj.(PT)) },
	}
}

// Pair names the two rows of a policy: objects in namespaces, and those of the same kind for the whole cluster.
func Pair(name, resource string, namespaced, cluster Kind) []Kind {
	namespaced.Name, namespaced.Resource = name, resource
	cluster.Name, cluster.Resource, cluster.ClusterScoped = "Cluster"+name, "cluster"+resource, true
	return []Kind{namespaced, cluster}
}

// Acts says whether policies of the kind act on targets.
func (k Kind) Acts() bool { return k.Status(k.New()) != nil }

// Status is the part of the object's status that all policies share; nil where the kind acts on no target.
func (k Kind) Status(obj Object) *v1alpha1.PolicyStatus { return k.Parts(obj).Status }

// RightsOf lists the rights that the engine uses because the object asks for it.
func (k Kind) RightsOf(obj Object) []Right {
	rights := k.Parts(obj).Rights
	if rights == nil {
		return nil
	}
	return rights()
}

// NeedsFinalizer says whether the object may change targets, so that it must not go before everything is given back.
func (k Kind) NeedsFinalizer(obj Object) bool {
	parts := k.Parts(obj)
	return parts.Status != nil && !parts.ChangesNothing
}
