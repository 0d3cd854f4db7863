package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:validation:Enum=TransitionAhead;Asleep;Awake;Failed;Contested;Denied;ExceptionMade;ExceptionUsed;FreezeAhead;FreezeBegun;FreezeOver;AdapterNotReady;RecommendationReady

// NotificationEvent is an occasion of a message.
type NotificationEvent string

// These are all occasions of messages.
const (
	// EventTransitionAhead: a policy is about to put its targets to sleep, to wake them, or to set other values.
	EventTransitionAhead NotificationEvent = "TransitionAhead"
	// EventAsleep and EventAwake: a schedule's transition was made on its targets.
	EventAsleep NotificationEvent = "Asleep"
	EventAwake  NotificationEvent = "Awake"
	// EventFailed: a policy is not ready: it is invalid, or some of its targets failed.
	EventFailed NotificationEvent = "Failed"
	// EventContested: another writer keeps overwriting a field that a policy sets.
	EventContested NotificationEvent = "Contested"
	// EventDenied: a freeze denied a change.
	EventDenied NotificationEvent = "Denied"
	// EventExceptionMade and EventExceptionUsed: an exception from freezes was created or edited, or let a change through.
	EventExceptionMade NotificationEvent = "ExceptionMade"
	EventExceptionUsed NotificationEvent = "ExceptionUsed"
	// EventFreezeAhead, EventFreezeBegun and EventFreezeOver: a freeze, or the end of a maintenance window, is near, has begun or is over.
	EventFreezeAhead NotificationEvent = "FreezeAhead"
	EventFreezeBegun NotificationEvent = "FreezeBegun"
	EventFreezeOver  NotificationEvent = "FreezeOver"
	// EventAdapterNotReady: an adapter that a policy needs is not ready.
	EventAdapterNotReady NotificationEvent = "AdapterNotReady"
	// EventRecommendationReady: a tuned target has a recommendation: it entered the phase PartlyWorking or Working.
	EventRecommendationReady NotificationEvent = "RecommendationReady"
)

// PolicySelector selects policies. All fields are ANDed, and an empty field selects everything.
type PolicySelector struct {
	// Kinds lists kinds of policies. Exceptions count as policies.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Enum=Schedule;ClusterSchedule;Trigger;ClusterTrigger;ChangeFreeze;ClusterChangeFreeze;MaintenanceWindow;ClusterMaintenanceWindow;FreezeException;ClusterFreezeException;DeletionCost;ClusterDeletionCost;Tortoise;ClusterTortoise
	// +listType=set
	Kinds []string `json:"kinds,omitempty"`
	// Names lists names of policies and globs. In a glob, * stands for any text: nights-*.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9.*-]+$`
	// +listType=set
	Names []string `json:"names,omitempty"`
	// Selector matches the labels of the policy.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ClusterPolicySelector selects policies of all namespaces, and cluster-scoped policies.
type ClusterPolicySelector struct {
	PolicySelector `json:",inline"`
	// Namespaces lists namespaces of policies by name or glob. Cluster-scoped policies are then left out. Empty: policies of all
	// namespaces and cluster-scoped policies.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*-]+$`
	// +listType=set
	Namespaces []string `json:"namespaces,omitempty"`
}

// SecretKey names a key of a Secret: in the namespace of the Notification, and for a ClusterNotification in the namespace of Flyball.
type SecretKey struct {
	// Name of the Secret. The manager may read only the names in the chart's value notifications.secrets.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the data of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// SecretSource is a value in a Secret.
type SecretSource struct {
	// SecretKeyRef names the key of the Secret.
	SecretKeyRef SecretKey `json:"secretKeyRef"`
}

// NotificationWebhook is an HTTP endpoint that receives CloudEvents 1.0 (structured JSON), signed as the Standard Webhooks specification
// says.
type NotificationWebhook struct {
	// URLFrom is the URL, https or http.
	URLFrom SecretSource `json:"urlFrom"`
	// SigningKeyFrom is the key of the HMAC-SHA256 signature: Base64 of at least 16 bytes, with or
	// without whsec_ before it.
	SigningKeyFrom SecretSource `json:"signingKeyFrom"`
}

// +kubebuilder:validation:Enum=Slack;Mattermost;RocketChat;GoogleChat;Discord;Teams;Email;JSON

// ServiceType is the kind of a service. It determines the form of the request.
type ServiceType string

// These are all types of services.
const (
	ServiceSlack      ServiceType = "Slack"
	ServiceMattermost ServiceType = "Mattermost"
	ServiceRocketChat ServiceType = "RocketChat"
	ServiceGoogleChat ServiceType = "GoogleChat"
	ServiceDiscord    ServiceType = "Discord"
	ServiceTeams      ServiceType = "Teams"
	ServiceEmail      ServiceType = "Email"
	ServiceJSON       ServiceType = "JSON"
)

// NotificationService is a service for people: a chat, e-mail, or any other that accepts JSON.
type NotificationService struct {
	// Type of the service. Teams means the webhook of a workflow. JSON posts spec.template as it is.
	Type ServiceType `json:"type"`
	// URLFrom is the URL of the incoming webhook, as the service shows it. For Email it is
	// smtp://USER:PASSWORD@HOST:587/?from=ADDRESS&to=ADDRESS, or smtps:// with port 465.
	URLFrom SecretSource `json:"urlFrom"`
}

// +kubebuilder:validation:XValidation:rule="has(self.webhook) != has(self.service)",message="give exactly one of webhook and service"

// NotificationTarget is the receiver of messages.
type NotificationTarget struct {
	// Webhook is an HTTP endpoint for programs.
	// +optional
	Webhook *NotificationWebhook `json:"webhook,omitempty"`
	// Service is a chat, e-mail or incident service for people.
	// +optional
	Service *NotificationService `json:"service,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="!has(self.to.service) || self.to.service.type != 'JSON' || has(self.template)",message="to.service.type JSON needs template, which is the whole body of the request"

// NotificationRules are the common fields of notifications of both scopes.
type NotificationRules struct {
	// Events lists the occasions of messages.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=13
	// +listType=set
	Events []NotificationEvent `json:"events"`
	// Ahead is the time between a message of TransitionAhead or FreezeAhead and the transition. At most 7d.
	// +optional
	// +kubebuilder:default="15m"
	Ahead Duration `json:"ahead,omitempty"`
	// To is the receiver.
	To NotificationTarget `json:"to"`
	// Template is the text of messages as a Go template. Its fields and functions are listed in docs/notifications.md. Default: a text
	// for each event.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Template string `json:"template,omitempty"`
	// Suspend sends no messages while true. Events of that time are not sent later.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// NotificationSpec selects policies of its own namespace.
type NotificationSpec struct {
	// Policies selects policies of the namespace. Empty means all of them.
	// +optional
	Policies          PolicySelector `json:"policies,omitempty"`
	NotificationRules `json:",inline"`
}

// ClusterNotificationSpec selects policies of all namespaces, and cluster-scoped policies.
type ClusterNotificationSpec struct {
	// Policies selects policies. Empty means all of them.
	// +optional
	Policies          ClusterPolicySelector `json:"policies,omitempty"`
	NotificationRules `json:",inline"`
}

// NotificationSent is a message that was sent or failed.
type NotificationSent struct {
	// Time of the answer of the receiver, or of the failure.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	Time metav1.Time `json:"time"`
	// Event is the occasion.
	Event NotificationEvent `json:"event"`
	// Policy is the policy, as Kind/namespace/name or Kind/name.
	Policy string `json:"policy"`
	// Text is a hash of the details of a sent message, or the reason for a failure.
	// +optional
	Text string `json:"text,omitempty"`
}

// NotificationStatus is the status of notifications.
type NotificationStatus struct {
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
	// LastSent is the last message that the receiver has accepted.
	// +optional
	LastSent *NotificationSent `json:"lastSent,omitempty"`
	// LastFailure is the last message that was given up, with the reason.
	// +optional
	LastFailure *NotificationSent `json:"lastFailure,omitempty"`
	// Sent counts accepted messages. Failed counts messages that were given up. Dropped counts the oldest messages dropped from a full queue.
	// +optional
	Sent int64 `json:"sent,omitempty"`
	// +optional
	Failed int64 `json:"failed,omitempty"`
	// +optional
	Dropped int64 `json:"dropped,omitempty"`
	// Recent lists the last messages about failures and the like, so that a restarted manager does not repeat them.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Recent []NotificationSent `json:"recent,omitempty"`
	// AheadUntil is the instant up to which messages ahead of transitions were sent, so that a restarted manager does not repeat them.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('0001-01-01T00:00:00Z')",message="must be an RFC 3339 instant"
	AheadUntil *metav1.Time `json:"aheadUntil,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fnot,categories=flyball
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Events",type=string,JSONPath=`.spec.events`
// +kubebuilder:printcolumn:name="Sent",type=integer,JSONPath=`.status.sent`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failed`
// +kubebuilder:printcolumn:name="Last Sent",type=date,JSONPath=`.status.lastSent.time`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Notification sends messages about the policies of its namespace to a webhook, a chat or e-mail.
type Notification struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NotificationSpec `json:"spec"`
	// +optional
	Status NotificationStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// NotificationList is a list of Notifications.
type NotificationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Notification `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fcnot,categories=flyball
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Events",type=string,JSONPath=`.spec.events`
// +kubebuilder:printcolumn:name="Sent",type=integer,JSONPath=`.status.sent`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failed`
// +kubebuilder:printcolumn:name="Last Sent",type=date,JSONPath=`.status.lastSent.time`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ClusterNotification sends messages about policies of all namespaces, and about cluster-scoped policies.
type ClusterNotification struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterNotificationSpec `json:"spec"`
	// +optional
	Status NotificationStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterNotificationList is a list of ClusterNotifications.
type ClusterNotificationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterNotification `json:"items"`
}
