// Package v1alpha1 holds the types of the flyball.dev/v1alpha1 API: adapters, which say how a kind is scaled, suspended,
// held and bounded, and the policies that use them. The CRDs in the parent directory are generated from these types.
//
// +kubebuilder:object:generate=true
// +groupName=flyball.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is flyball.dev/v1alpha1.
var GroupVersion = schema.GroupVersion{Group: "flyball.dev", Version: "v1alpha1"}

// AddToScheme registers every kind of this package with a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Adapter{}, &AdapterList{},
		&Calendar{}, &CalendarList{},
		&Schedule{}, &ScheduleList{},
		&ClusterSchedule{}, &ClusterScheduleList{},
		&Trigger{}, &TriggerList{},
		&ClusterTrigger{}, &ClusterTriggerList{},
		&DeletionCost{}, &DeletionCostList{},
		&ClusterDeletionCost{}, &ClusterDeletionCostList{},
		&Tortoise{}, &TortoiseList{},
		&ClusterTortoise{}, &ClusterTortoiseList{},
		&Recommendation{}, &RecommendationList{},
		&UsageCheckpoint{}, &UsageCheckpointList{},
		&ChangeFreeze{}, &ChangeFreezeList{},
		&ClusterChangeFreeze{}, &ClusterChangeFreezeList{},
		&MaintenanceWindow{}, &MaintenanceWindowList{},
		&ClusterMaintenanceWindow{}, &ClusterMaintenanceWindowList{},
		&FreezeException{}, &FreezeExceptionList{},
		&ClusterFreezeException{}, &ClusterFreezeExceptionList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Names of annotations and finalizers that Flyball reads and writes.
const (
	// AnnotationLedger holds, on a target, what each changed field was before (see package workload).
	AnnotationLedger = "flyball.dev/ledger"
	// AnnotationAwakeUntil keeps a target, a namespace's targets or a policy's targets awake until an RFC 3339 instant, a date and time in the
	// zone of the policy, or the end of a date.
	AnnotationAwakeUntil = "flyball.dev/awake-until"
	// AnnotationTunedBy names, on a pod that was created with other requests than its template has, the policy by which.
	AnnotationTunedBy = "flyball.dev/tuned-by"
	// AnnotationAwakeReason says, beside AnnotationAwakeUntil, why. Flyball does not read it.
	AnnotationAwakeReason = "flyball.dev/awake-reason"
	// FinalizerRestore keeps a policy or an adapter until everything it changed is given back.
	FinalizerRestore = "flyball.dev/restore"
	// LabelExclude on an object, with the value true, takes it out of every policy that leaves `exclude` at its default. Freezes,
	// maintenance windows and exceptions have no such default.
	LabelExclude = "flyball.dev/exclude"
	// LabelMade marks VerticalPodAutoscalers that Flyball has made: its value is "true". Those without it are somebody else's.
	LabelMade = "flyball.dev/made"
)

// Condition types. Each comes with a reason and a message; polarity is positive unless the comment says otherwise.
const (
	// ConditionReady: the object is valid and everything it asks for is done or under way without errors.
	ConditionReady = "Ready"
	// ConditionAsleep: the policy's schedule is in its asleep state.
	ConditionAsleep = "Asleep"
	// ConditionActive: a trigger of the policy is in force, by its window or by what it sets afterwards; a freeze denies changes.
	ConditionActive = "Active"
	// ConditionContested (negative): another writer keeps resetting a field that the policy sets.
	ConditionContested = "Contested"
	// ConditionConflicting (negative): another policy asks for something else on some target, and no priority decides which of them wins. Where one
	// decides, the condition is false, with the reason Overruled.
	ConditionConflicting = "Conflicting"
	// ConditionAnnotationIgnored (negative): annotations that the policy reads cannot be read, and are left out. It is there only while that is so.
	ConditionAnnotationIgnored = "AnnotationIgnored"
	// ConditionSelecting is false where a policy selects nothing, with the term of its target that matches nothing.
	ConditionSelecting = "Selecting"

	// ConditionAccepted: an adapter compiles and is the only one for its kind.
	ConditionAccepted = "Accepted"
	// ConditionServed: the API server serves the adapter's kind and version, and /scale where it is used.
	ConditionServed = "Served"
	// ConditionSchemaMatched: every path of the adapter was found, with its type, in the live OpenAPI schema.
	ConditionSchemaMatched = "SchemaMatched"
	// ConditionAuthorized: Flyball holds the RBAC rights the adapter needs.
	ConditionAuthorized = "Authorized"
	// ConditionWatching: the watch of the adapter's kind is in sync.
	ConditionWatching = "Watching"
)
