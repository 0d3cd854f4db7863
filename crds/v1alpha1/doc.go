// Package v1alpha1 has the types of the flyball.dev/v1alpha1 API: adapters, which describe how a kind is scaled,
// suspended, held and bounded, and the policies that use them. The CRDs in the parent directory are generated from
// these types.
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
		&Override{}, &OverrideList{},
		&ClusterOverride{}, &ClusterOverrideList{},
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
		&Notification{}, &NotificationList{},
		&ClusterNotification{}, &ClusterNotificationList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// These are the annotations, labels and finalizers that Flyball reads and writes.
const (
	// AnnotationLedger has, on a target, the original of each changed field (see package workload).
	AnnotationLedger = "flyball.dev/ledger"
	// AnnotationTunedBy is set on a pod created with other requests than its template. Its value is the policy.
	AnnotationTunedBy = "flyball.dev/tuned-by"
	// AnnotationBoost says, on a pod that was created with more CPU for its start, until when, and what its containers come down to then.
	AnnotationBoost = "flyball.dev/startup-boost"
	// FinalizerRestore keeps a policy or an adapter until all its changes are restored.
	FinalizerRestore = "flyball.dev/restore"
	// LabelExclude with the value true excludes an object from every policy whose `exclude` has its default. Freezes,
	// maintenance windows and exceptions have no such default.
	LabelExclude = "flyball.dev/exclude"
	// LabelMade with the value "true" marks VerticalPodAutoscalers created by Flyball. All others belong to other
	// owners.
	LabelMade = "flyball.dev/made"
)

// Types of conditions. Each condition has a reason and a message. True is good, unless the comment says negative.
const (
	// ConditionReady: the object is valid, and everything it asks for is done or in progress without errors.
	ConditionReady = "Ready"
	// ConditionAsleep: the schedule is in its asleep state.
	ConditionAsleep = "Asleep"
	// ConditionActive: a trigger's during or after values are in force, or a freeze denies changes.
	ConditionActive = "Active"
	// ConditionContested (negative): another writer keeps overwriting a field that the policy sets.
	ConditionContested = "Contested"
	// ConditionConflicting (negative): another policy makes a different claim on a target, and no priority decides
	// between them. If a priority decides, the condition is false with the reason Overruled.
	ConditionConflicting = "Conflicting"
	// ConditionOwnersHeld: the owners of the targets are held. The condition exists only with holdOwner.
	ConditionOwnersHeld = "OwnersHeld"
	// ConditionEventsIgnored (negative): events of a calendar's file cannot be read and are ignored, or the calendar of a freeze
	// does not exist. A calendar and the policies that use it have the condition only while it is true.
	ConditionEventsIgnored = "EventsIgnored"
	// ConditionHolidaysUnchecked (negative): holidays of a calendar in the coming days were not compared with an official list. The
	// condition exists only while it is true.
	ConditionHolidaysUnchecked = "HolidaysUnchecked"
	// ConditionDryRun (negative): the manager runs with --dry-run, so the rest of the status is what would be. It is absent otherwise.
	ConditionDryRun = "DryRun"
	// ConditionSelecting is false if a policy selects nothing. The message has the selector term without a match.
	ConditionSelecting = "Selecting"

	// ConditionAccepted: an adapter compiles and is the only adapter of its kind.
	ConditionAccepted = "Accepted"
	// ConditionServed: the API server serves the adapter's kind and version, and /scale if used.
	ConditionServed = "Served"
	// ConditionSchemaMatched: the live OpenAPI schema has every path of the adapter, with its type.
	ConditionSchemaMatched = "SchemaMatched"
	// ConditionAuthorized: Flyball has the RBAC rights that the adapter needs.
	ConditionAuthorized = "Authorized"
	// ConditionWatching: the watch of the adapter's kind is in sync.
	ConditionWatching = "Watching"
)
