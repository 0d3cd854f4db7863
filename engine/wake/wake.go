// Package wake says which edit keeps an object, a namespace or the targets of a schedule awake, and which objects this
// edit reaches. The command line, its pages and the wake API use it.
package wake

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Place is an object, a namespace or a schedule that can have the annotation awake-until.
type Place struct {
	Resource        schema.GroupVersionResource
	Kind            string
	Namespace, Name string

	// Object is the reference of an object, and Policy the name of a schedule. Both are the zero value for a namespace.
	Object workload.Ref
	Policy workload.Policy
}

// OfObject returns the place of an object.
func OfObject(resource schema.GroupVersionResource, ref workload.Ref) Place {
	return Place{Resource: resource, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Object: ref}
}

// OfNamespace returns the place of a namespace.
func OfNamespace(name string) Place {
	return Place{Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace", Name: name}
}

// OfPolicy returns the place of a schedule. It returns false if the kind is no kind of schedules.
func OfPolicy(id workload.Policy) (Place, bool) {
	i := slices.IndexFunc(schedule.Kinds(), func(k policy.Kind) bool { return k.Name == id.Kind })
	if i < 0 {
		return Place{}, false
	}
	return Place{Resource: v1alpha1.GroupVersion.WithResource(schedule.Kinds()[i].Resource), Kind: id.Kind, Namespace: id.Namespace,
		Name: id.Name, Policy: id}, true
}

// String returns KIND/NAME.
func (p Place) String() string { return strings.ToLower(p.Kind) + "/" + p.Name }

// Reaches reports whether the annotation on the place keeps an object awake. The schedules are the schedules that
// Scheduled returns for the object.
func (p Place) Reaches(ref workload.Ref, schedules []*world.Policy) bool {
	switch {
	case p.Object.Name != "":
		return p.Object == ref
	case p.Policy.Name != "":
		return slices.ContainsFunc(schedules, func(s *world.Policy) bool { return s.ID == p.Policy })
	default:
		return p.Kind == "Namespace" && p.Name == ref.Namespace
	}
}

// IsSchedule reports whether a kind of policies is a kind of schedules.
func IsSchedule(kind string) bool {
	_, ok := OfPolicy(workload.Policy{Kind: kind})
	return ok
}

// Scheduled returns the objects that schedules select or have changed, each with these schedules.
func Scheduled(s *world.Snapshot) map[workload.Ref][]*world.Policy {
	all := map[workload.Ref][]*world.Policy{}
	for p := range s.Policies {
		if !IsSchedule(p.Kind.Name) {
			continue
		}
		s.EachTarget(p, func(ref workload.Ref) {
			if !slices.Contains(all[ref], p) {
				all[ref] = append(all[ref], p)
			}
		})
	}
	return all
}

// Mark is an annotation of places that asks for a state until an instant, with the annotation of the reason.
type Mark struct{ Until, Reason string }

// Awake keeps places awake. Held holds objects.
var (
	Awake = Mark{v1alpha1.AnnotationAwakeUntil, v1alpha1.AnnotationAwakeReason}
	Held  = Mark{v1alpha1.AnnotationHoldUntil, v1alpha1.AnnotationHoldReason}
)

// Patch returns the merge patch that keeps a place awake. See Mark.Patch.
func Patch(until time.Time, reason string) []byte { return Awake.Patch(until, reason) }

// Patch returns the merge patch that sets the annotations. If until is the zero time, the patch removes them.
func (m Mark) Patch(until time.Time, reason string) []byte {
	annotations := map[string]any{m.Until: nil, m.Reason: nil}
	if !until.IsZero() {
		annotations[m.Until] = until.UTC().Format(time.RFC3339)
		if reason != "" {
			annotations[m.Reason] = reason
		}
	}
	body, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}}) // texts always have a JSON form
	return body
}

// Set sets the instant in annotations, or deletes it if until is the zero time.
func (m Mark) Set(annotations map[string]string, until time.Time) {
	if until.IsZero() {
		delete(annotations, m.Until)
		return
	}
	annotations[m.Until] = until.UTC().Format(time.RFC3339)
}
