package adapters

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/world"
)

// writeFinding summarizes the conditions in the condition Ready and writes the status if it has changed.
func (c *Controller) writeFinding(ctx context.Context, a *v1alpha1.Adapter, f *finding) error {
	c.report(a, f)
	failed := f.failed
	if failed == "" {
		message := "in use"
		if f.loses != "" {
			message += ", but " + f.loses
		}
		f.set(v1alpha1.ConditionReady, true, "Ready", message)
	} else {
		condition := meta.FindStatusCondition(f.status.Conditions, failed)
		f.set(v1alpha1.ConditionReady, false, condition.Reason, condition.Message)
	}
	c.Metrics.set(a.Name, failed == "", !isMissing(a, f), meta.FindStatusCondition(f.status.Conditions, v1alpha1.ConditionAuthorized))
	return c.writeStatus(ctx, a, f.status)
}

// report reports the result of an adapter's check to the policies and to the start of the manager.
func (c *Controller) report(a *v1alpha1.Adapter, f *finding) {
	c.setHidden(a.Name, f.hidden)
	if c.Health.Set(a.Name, c.ailmentOf(a, f)) {
		c.dirtyPolicies(a.Spec.Target.GroupKind())
	}
}

// ailmentOf returns the fault of an adapter, for the policies that would select objects of its kind, or nil for no
// fault. An unserved kind is no fault, because it has no objects. An adapter replaced by an older one of the same
// kind is no fault either.
func (c *Controller) ailmentOf(a *v1alpha1.Adapter, f *finding) *status.Ailment {
	c.mu.RLock()
	r := c.running[a.Name]
	c.mu.RUnlock()
	if f.failed == "" || isMissing(a, f) {
		return nil
	}
	ailment := &status.Ailment{Kind: a.Spec.Target.GroupKind(), Capabilities: f.status.Capabilities,
		Outside: c.World.Scope().IsClusterScoped(a.Spec.Target.GroupKind())}
	if r != nil {
		_, err := r.watch.Err()
		_, refused := r.refused()
		ailment.Listing, ailment.Unwatched = err == nil && f.failed == v1alpha1.ConditionWatching, refused != nil
	}
	condition := meta.FindStatusCondition(f.status.Conditions, f.failed)
	if condition.Reason == duplicateKind {
		return nil
	}
	consequence := "objects of its kind are left as they are"
	if ailment.Unwatched {
		consequence = "changes of objects of its kind are not seen"
	}
	ailment.Reason = fmt.Sprintf("the adapter %s is not ready (%s), so %s: %s", a.Name, f.failed, consequence, condition.Message)
	return ailment
}

// isMissing reports whether the kind is not served and no object changed by Flyball remains.
func isMissing(a *v1alpha1.Adapter, f *finding) bool {
	return f.served.Absence.IsGone() || f.served.Absence == inspect.NothingServed &&
		!controllerutil.ContainsFinalizer(a, v1alpha1.FinalizerRestore)
}

// writeStatus writes the status of an adapter if it has changed, and schedules a new look at affected policies.
func (c *Controller) writeStatus(ctx context.Context, a *v1alpha1.Adapter, st v1alpha1.AdapterStatus) error {
	if equality.Semantic.DeepEqual(a.Status, st) {
		return nil
	}
	before := a.DeepCopy()
	a.Status = st
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.Client.Status().Patch(ctx, a, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of the adapter %s: %w", a.Name, err))
	}
	c.dirtyPolicies(a.Spec.Target.GroupKind())
	return nil
}

// dirtyPolicies schedules a new look at the status of policies involved with a kind.
func (c *Controller) dirtyPolicies(gk schema.GroupKind) {
	for p := range c.World.Snapshot().Policies {
		if p.SpeaksOf(gk) {
			c.PolicyDirty(p.ID)
		}
	}
}

// writeReleasing writes the progress of an adapter's deletion and the reason for its delay. If the status already had
// this state, it also sends an event.
func (c *Controller) writeReleasing(ctx context.Context, a *v1alpha1.Adapter, f *finding, message string) error {
	st := *f.status.DeepCopy()
	if was := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady); c.Recorder != nil && was != nil &&
		was.Reason == "Restoring" {
		c.Recorder.Eventf(a, nil, corev1.EventTypeWarning, "DeletionWaits", "Delete", "%s", message)
	}
	meta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Restoring",
		Message: status.Truncate(message, 2048), ObservedGeneration: a.Generation, LastTransitionTime: metav1.NewTime(c.Clock.Now())})
	return c.writeStatus(ctx, a, st)
}

// Metrics are the metrics of adapters.
type Metrics struct {
	ready, installed, authorized *prometheus.GaugeVec
}

// NewMetrics creates and registers the metrics. The number of watched objects is read from the given world. A metric that
// is registered already is an error.
func NewMetrics(r prometheus.Registerer, w *world.World) (*Metrics, error) {
	m := &Metrics{ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_adapter_ready",
		Help: "1 if an adapter is ready for use, else 0."}, []string{"adapter"}),
		installed: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_adapter_kind_installed",
			Help: "0 if the API server does not serve the adapter's kind, so that the adapter has nothing to do, else 1."}, []string{"adapter"}),
		authorized: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_adapter_authorized",
			Help: "1 if Flyball holds the rights needed by an adapter, 0 if some are missing; absent while unknown."}, []string{"adapter"})}
	objects := &objectCollector{world: w, desc: prometheus.NewDesc("flyball_cache_objects", "Objects watched for an adapter.",
		[]string{"adapter"}, nil)}
	for _, collector := range []prometheus.Collector{m.ready, m.installed, m.authorized, objects} {
		if err := r.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) set(name string, ready, installed bool, authorized *metav1.Condition) {
	m.ready.WithLabelValues(name).Set(oneIf(ready))
	m.installed.WithLabelValues(name).Set(oneIf(installed))
	if authorized == nil || authorized.Status == metav1.ConditionUnknown || authorized.Reason == "Unknown" {
		m.authorized.DeleteLabelValues(name)
		return
	}
	m.authorized.WithLabelValues(name).Set(oneIf(authorized.Status == metav1.ConditionTrue))
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// forget removes every series of a deleted adapter.
func (m *Metrics) forget(name string) {
	m.ready.DeleteLabelValues(name)
	m.authorized.DeleteLabelValues(name)
	m.installed.DeleteLabelValues(name)
}

// objectCollector counts the objects in the watches at each scrape.
type objectCollector struct {
	desc  *prometheus.Desc
	world *world.World
}

// Describe implements prometheus.Collector.
func (c *objectCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c *objectCollector) Collect(ch chan<- prometheus.Metric) {
	for _, k := range c.world.Snapshot().Kinds() {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(k.Live.Len()), k.Adapter.Name())
	}
}
