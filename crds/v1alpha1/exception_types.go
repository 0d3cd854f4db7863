package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ExceptionConstraints limit an exception. All given constraints must hold.
type ExceptionConstraints struct {
	// RequireLabels must be on the object before and after the change.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	RequireLabels map[string]string `json:"requireLabels,omitempty"`
	// AllowedUsers lists the users who may use the exception.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	AllowedUsers []string `json:"allowedUsers,omitempty"`
	// AllowedGroups lists the groups whose members may use the exception.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	AllowedGroups []string `json:"allowedGroups,omitempty"`
}

// ExceptionRules are the common fields of exceptions of both scopes.
type ExceptionRules struct {
	// ActiveFrom is the first instant at which the exception is active.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	ActiveFrom metav1.Time `json:"activeFrom"`
	// ActiveTo is the first instant after the exception.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	ActiveTo metav1.Time `json:"activeTo"`
	// Allow lists the allowed actions.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	Allow []Action `json:"allow"`
	// Policies lists the freezes and maintenance windows that the exception lifts, as Kind/namespace/name, Kind/name or
	// name. Kind/name of a namespaced kind means the exception's own namespace, so only a FreezeException can use it. A
	// bare name means a freeze or maintenance window with this name: in the exception's own namespace, or for a
	// ClusterFreezeException of a Cluster kind. The author needs the verb except on the exception, or on each policy
	// that an entry can mean, whether it exists or not. Empty means all policies that the exception can lift.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=342
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z]+/([a-z0-9-]+/)?)?[a-z0-9.-]+$`
	// +listType=set
	Policies []string `json:"policies,omitempty"`
	// Constraints limit the exception.
	// +optional
	Constraints *ExceptionConstraints `json:"constraints,omitempty"`
	// Reason explains the exception.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason"`
	// TicketURL is the URL of the request for the exception.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	TicketURL string `json:"ticketURL,omitempty"`
	// ApprovedBy is a note about the approval. The actual creator of the exception is in status, taken from the request
	// itself.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ApprovedBy string `json:"approvedBy,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="self.activeTo > self.activeFrom",message="activeTo must be after activeFrom"

// FreezeExceptionSpec lifts namespaced freezes of its own namespace, but never a cluster freeze.
type FreezeExceptionSpec struct {
	// Target selects the objects. Empty means everything adapted in the namespace.
	// +optional
	// +kubebuilder:default={}
	Target         TargetSelector `json:"target,omitempty"`
	ExceptionRules `json:",inline"`
}

// +kubebuilder:validation:XValidation:rule="self.activeTo > self.activeFrom",message="activeTo must be after activeFrom"

// ClusterFreezeExceptionSpec lifts freezes of both scopes.
type ClusterFreezeExceptionSpec struct {
	// Target selects the objects by namespaces, a namespace selector, or only cluster-scoped kinds, and optionally
	// more.
	Target         ClusterTargetSelector `json:"target"`
	ExceptionRules `json:",inline"`
}

// ExceptionStatus is the status of freeze exceptions. Times are absolute, so that the status need not be rewritten as
// time passes.
type ExceptionStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions follow the Kubernetes API conventions.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('0001-01-01T00:00:00Z'))",message="lastTransitionTime must be an RFC 3339 instant"
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// State is Scheduled, Active, Expired or Invalid.
	// +optional
	State string `json:"state,omitempty"`
	// Active is true while the exception is active.
	// +optional
	Active bool `json:"active"`
	// NextTransitionTime is the next time at which the exception begins or ends. Absent after its end.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	NextTransitionTime *metav1.Time `json:"nextTransitionTime,omitempty"`
	// CreatedBy is the user who created the exception, as authenticated by the API server.
	// +optional
	CreatedBy string `json:"createdBy,omitempty"`
	// CreatedAt is the time of the creation.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ffex,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Allow",type=string,JSONPath=`.spec.allow`
// +kubebuilder:printcolumn:name="From",type=string,format=date-time,JSONPath=`.spec.activeFrom`
// +kubebuilder:printcolumn:name="To",type=string,format=date-time,JSONPath=`.spec.activeTo`
// +kubebuilder:printcolumn:name="Created By",type=string,JSONPath=`.status.createdBy`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// FreezeException allows changes that namespaced freezes of its own namespace deny.
type FreezeException struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec FreezeExceptionSpec `json:"spec"`
	// +optional
	Status ExceptionStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// FreezeExceptionList is a list of FreezeExceptions.
type FreezeExceptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FreezeException `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fcfex,categories=flyball
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Allow",type=string,JSONPath=`.spec.allow`
// +kubebuilder:printcolumn:name="From",type=string,format=date-time,JSONPath=`.spec.activeFrom`
// +kubebuilder:printcolumn:name="To",type=string,format=date-time,JSONPath=`.spec.activeTo`
// +kubebuilder:printcolumn:name="Created By",type=string,JSONPath=`.status.createdBy`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ClusterFreezeException allows changes that freezes of either scope deny.
type ClusterFreezeException struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterFreezeExceptionSpec `json:"spec"`
	// +optional
	Status ExceptionStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterFreezeExceptionList is a list of ClusterFreezeExceptions.
type ClusterFreezeExceptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterFreezeException `json:"items"`
}
