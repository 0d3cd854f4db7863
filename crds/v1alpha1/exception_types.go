package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ExceptionConstraints narrow an exception. All that are given must hold.
type ExceptionConstraints struct {
	// RequireLabels must be on the object, before and after the change.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	RequireLabels map[string]string `json:"requireLabels,omitempty"`
	// AllowedUsers lists user names, one of which must be asking.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	AllowedUsers []string `json:"allowedUsers,omitempty"`
	// AllowedGroups lists groups, in one of which whoever is asking must be.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	AllowedGroups []string `json:"allowedGroups,omitempty"`
}

// ExceptionRules is what exceptions of both scopes share.
type ExceptionRules struct {
	// ActiveFrom is the first instant at which the exception holds.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	ActiveFrom metav1.Time `json:"activeFrom"`
	// ActiveTo is the first instant after it.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	ActiveTo metav1.Time `json:"activeTo"`
	// Allow lists the actions that are let through.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	Allow []Action `json:"allow"`
	// Policies names the freezes and maintenance windows that the exception lifts, as Kind/namespace/name, Kind/name or name.
	// Kind/name of a namespaced kind is in the exception's own namespace, which only a FreezeException has. A bare name is a
	// freeze or a maintenance window of that name: of the exception's own namespace, or of a ClusterFreezeException a Cluster
	// kind. Whoever edits the exception needs the verb except on each policy that an entry can stand for, there or not, or on
	// the exception. Empty: all policies that the exception can lift.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=342
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z]+/([a-z0-9-]+/)?)?[a-z0-9.-]+$`
	// +listType=set
	Policies []string `json:"policies,omitempty"`
	// Constraints narrow the exception.
	// +optional
	Constraints *ExceptionConstraints `json:"constraints,omitempty"`
	// Reason says why the exception is made.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason"`
	// TicketURL is where the exception was asked for.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	TicketURL string `json:"ticketURL,omitempty"`
	// ApprovedBy is who agreed. It is a note: who made the exception is in status, taken from the request itself.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ApprovedBy string `json:"approvedBy,omitempty"`
}

// FreezeExceptionSpec lifts namespaced freezes of its own namespace; never a cluster freeze.
// +kubebuilder:validation:XValidation:rule="self.activeTo > self.activeFrom",message="activeTo must be after activeFrom"
type FreezeExceptionSpec struct {
	// Target selects the objects. Empty: everything adapted in the namespace.
	// +optional
	// +kubebuilder:default={}
	Target         TargetSelector `json:"target,omitempty"`
	ExceptionRules `json:",inline"`
}

// ClusterFreezeExceptionSpec lifts freezes of both scopes.
// +kubebuilder:validation:XValidation:rule="self.activeTo > self.activeFrom",message="activeTo must be after activeFrom"
type ClusterFreezeExceptionSpec struct {
	// Target selects the objects; it names namespaces, a namespace selector, or only cluster-scoped kinds.
	Target         ClusterTargetSelector `json:"target"`
	ExceptionRules `json:",inline"`
}

// ExceptionStatus is what freeze exceptions report. Instants are fixed: nothing here is rewritten as time goes by.
type ExceptionStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions by the Kubernetes API conventions.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('0001-01-01T00:00:00Z'))",message="lastTransitionTime must be an RFC 3339 instant"
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// State is Scheduled, Active, Expired or Invalid.
	// +optional
	State string `json:"state,omitempty"`
	// Active is true while the exception holds.
	// +optional
	Active bool `json:"active"`
	// NextTransitionTime is when the exception begins or ends next; absent once it has ended.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	NextTransitionTime *metav1.Time `json:"nextTransitionTime,omitempty"`
	// CreatedBy is the user who made the exception, as the API server had authenticated them.
	// +optional
	CreatedBy string `json:"createdBy,omitempty"`
	// CreatedAt is when.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`
}

// FreezeException lets changes through that namespaced freezes of its own namespace deny.
//
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
type FreezeException struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec FreezeExceptionSpec `json:"spec"`
	// +optional
	Status ExceptionStatus `json:"status,omitempty"`
}

// FreezeExceptionList is a list of FreezeExceptions.
// +kubebuilder:object:root=true
type FreezeExceptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FreezeException `json:"items"`
}

// ClusterFreezeException lets changes through that freezes of either scope deny.
//
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
type ClusterFreezeException struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterFreezeExceptionSpec `json:"spec"`
	// +optional
	Status ExceptionStatus `json:"status,omitempty"`
}

// ClusterFreezeExceptionList is a list of ClusterFreezeExceptions.
// +kubebuilder:object:root=true
type ClusterFreezeExceptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterFreezeException `json:"items"`
}
