package v1alpha1

// +kubebuilder:validation:Enum=Metrics;VerticalPodAutoscaler;Prometheus

// HistorySource is the source of usage.
type HistorySource string

// Sources of usage.
const (
	// HistoryMetrics is the metrics API (metrics.k8s.io), from now on.
	HistoryMetrics HistorySource = "Metrics"
	// HistoryVertical is the VerticalPodAutoscaler of the target for requests, and the metrics API for all else.
	HistoryVertical HistorySource = "VerticalPodAutoscaler"
	// HistoryPrometheus is the Prometheus server that the manager was started with.
	HistoryPrometheus HistorySource = "Prometheus"
)

// +kubebuilder:validation:Enum=Auto;Daily

// Seasonality is the period of demand.
type Seasonality string

// Seasonalities.
const (
	// SeasonalityAuto is by the day, and by the week once more than a week is known.
	SeasonalityAuto Seasonality = "Auto"
	// SeasonalityDaily is by the day alone.
	SeasonalityDaily Seasonality = "Daily"
)

// +kubebuilder:validation:XValidation:rule="!has(self.window) || self.source == 'Prometheus'",message="history.window is for the source Prometheus: the metrics API has no history"
// +kubebuilder:validation:XValidation:rule="!has(self.create) || !self.create || self.source == 'VerticalPodAutoscaler'",message="history.create is for the source VerticalPodAutoscaler"

// TunedHistory is the source of usage.
type TunedHistory struct {
	// Source is Metrics: the metrics API (metrics.k8s.io), from now on; VerticalPodAutoscaler: that of the target
	// recommends the requests that are not chosen together with replicas, and the metrics API has all else; or
	// Prometheus: the server of the manager's flag --prometheus, which has a history. While it cannot be read, the
	// metrics API is read.
	// +optional
	// +kubebuilder:default=Metrics
	Source HistorySource `json:"source,omitempty"`
	// Create makes a VerticalPodAutoscaler with the update mode Off for each target without one. It is deleted with the
	// policy, or when the policy no longer asks for it.
	// +optional
	Create bool `json:"create,omitempty"`
	// TimeZone in whose days and weeks demand repeats is an IANA name, for example Europe/Skopje. Default: UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Seasonality: Auto is by the day, and by the week after more than a week of history. Daily is by the day alone.
	// +optional
	// +kubebuilder:default=Auto
	Seasonality Seasonality `json:"seasonality,omitempty"`
	// Window is how far back Prometheus is asked, from 1h to 28d. Default: 28d.
	// +optional
	Window Duration `json:"window,omitempty"`
}
