package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ffrz,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Enforcement",type=string,JSONPath=`.spec.enforcement`
// +kubebuilder:printcolumn:name="Next",type=string,format=date-time,JSONPath=`.status.nextTransitionTime`
// +kubebuilder:printcolumn:name="Last Denial",type=date,JSONPath=`.status.lastDenial.time`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.message.reason`
// +kubebuilder:printcolumn:name="Start",type=string,format=date-time,JSONPath=`.spec.startTime`,priority=1
// +kubebuilder:printcolumn:name="End",type=string,format=date-time,JSONPath=`.spec.endTime`,priority=1
// +kubebuilder:printcolumn:name="Asleep",type=integer,JSONPath=`.status.targets.asleep`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ChangeFreeze denies changes to objects of its own namespace for a period of time.
type ChangeFreeze struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ChangeFreezeSpec `json:"spec"`
	// +optional
	Status FreezeStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ChangeFreezeList is a list of ChangeFreezes.
type ChangeFreezeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ChangeFreeze `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fcfrz,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Enforcement",type=string,JSONPath=`.spec.enforcement`
// +kubebuilder:printcolumn:name="Next",type=string,format=date-time,JSONPath=`.status.nextTransitionTime`
// +kubebuilder:printcolumn:name="Last Denial",type=date,JSONPath=`.status.lastDenial.time`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.message.reason`
// +kubebuilder:printcolumn:name="Start",type=string,format=date-time,JSONPath=`.spec.startTime`,priority=1
// +kubebuilder:printcolumn:name="End",type=string,format=date-time,JSONPath=`.spec.endTime`,priority=1
// +kubebuilder:printcolumn:name="Asleep",type=integer,JSONPath=`.status.targets.asleep`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ClusterChangeFreeze is a ChangeFreeze for many namespaces.
type ClusterChangeFreeze struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterChangeFreezeSpec `json:"spec"`
	// +optional
	Status FreezeStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterChangeFreezeList is a list of ClusterChangeFreezes.
type ClusterChangeFreezeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterChangeFreeze `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fmw,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Enforcement",type=string,JSONPath=`.spec.enforcement`
// +kubebuilder:printcolumn:name="Next",type=string,format=date-time,JSONPath=`.status.nextTransitionTime`
// +kubebuilder:printcolumn:name="Last Denial",type=date,JSONPath=`.status.lastDenial.time`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.message.reason`
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.spec.timeZone`,priority=1
// +kubebuilder:printcolumn:name="Asleep",type=integer,JSONPath=`.status.targets.asleep`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// MaintenanceWindow allows changes to objects of its own namespace only inside its windows.
type MaintenanceWindow struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MaintenanceWindowSpec `json:"spec"`
	// +optional
	Status FreezeStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// MaintenanceWindowList is a list of MaintenanceWindows.
type MaintenanceWindowList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MaintenanceWindow `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fcmw,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Enforcement",type=string,JSONPath=`.spec.enforcement`
// +kubebuilder:printcolumn:name="Next",type=string,format=date-time,JSONPath=`.status.nextTransitionTime`
// +kubebuilder:printcolumn:name="Last Denial",type=date,JSONPath=`.status.lastDenial.time`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.message.reason`
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.spec.timeZone`,priority=1
// +kubebuilder:printcolumn:name="Asleep",type=integer,JSONPath=`.status.targets.asleep`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ClusterMaintenanceWindow is a MaintenanceWindow for many namespaces.
type ClusterMaintenanceWindow struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterMaintenanceWindowSpec `json:"spec"`
	// +optional
	Status FreezeStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterMaintenanceWindowList is a list of ClusterMaintenanceWindows.
type ClusterMaintenanceWindowList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterMaintenanceWindow `json:"items"`
}
