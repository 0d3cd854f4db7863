package adapter

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/world"
)

// writeFinding sums the conditions up in Ready and writes the status, if anything in it has changed.
func (c *Controller) writeFinding(ctx context.Context, a *v1alpha1.Adapter, f *finding) error {
	c.Health.Set(a.Name, c.ailmentOf(a, f))
	failed := f.failed
	if failed == "" {
		f.set(v1alpha1.ConditionReady, true, "Ready", "in use")
	} else {
		condition := meta.FindStatusCondition(f.status.Conditions, failed)
		f.set(v1alpha1.ConditionReady, false, condition.Reason, condition.Message)
	}
	c.Metrics.setReady(a.Name, failed == "")
	return c.writeStatus(ctx, a, f.status)
}

// ailmentOf says what is wrong with an adapter, for the policies that list no kinds and would select objects of its kind; nil:
// nothing is. A kind that is not served has no objects, one outside namespaces is selected only where it is listed, an adapter
// that stands back for another is not missed, and a first list takes its time.
func (c *Controller) ailmentOf(a *v1alpha1.Adapter, f *finding) *status.Ailment {
	c.mu.RLock()
	r := c.running[a.Name]
	c.mu.RUnlock()
	listing := false
	if f.failed == v1alpha1.ConditionWatching && r != nil {
		_, err := r.watch.Err()
		listing = err == nil
	}
	if f.failed == "" || f.served.Absence.IsGone() || listing {
		return nil
	}
	condition := meta.FindStatusCondition(f.status.Conditions, f.failed)
	clusterScoped := c.World.Scope().ClusterScoped
	if condition.Reason == duplicateKind || clusterScoped != nil && clusterScoped(kindOf(a)) {
		return nil
	}
	return &status.Ailment{
		Kind: kindOf(a), Capabilities: f.status.Capabilities,
		Reason: fmt.Sprintf("the adapter %s is not ready (%s), so that objects of its kind are left as they are: %s", a.Name, f.failed, condition.Message),
	}
}

// writeStatus writes the status of an adapter, if anything in it has changed, and has the policies concerned follow.
func (c *Controller) writeStatus(ctx context.Context, a *v1alpha1.Adapter, st v1alpha1.AdapterStatus) error {
	if equality.Semantic.DeepEqual(a.Status, st) {
		return nil
	}
	before := a.DeepCopy()
	a.Status = st
	if err := c.Client.Status().Patch(ctx, a, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of the adapter %s: %w", a.Name, err))
	}
	for p := range c.World.Snapshot().Policies {
		if p.Target.MatchesKind(kindOf(a)) {
			c.PolicyDirty(p.ID)
		}
	}
	return nil
}

// writeReleasing says how far the deletion of an adapter has come.
func (c *Controller) writeReleasing(ctx context.Context, a *v1alpha1.Adapter, message string) error {
	st := *a.Status.DeepCopy()
	meta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Restoring",
		Message: status.Truncate(message, 2048), ObservedGeneration: a.Generation, LastTransitionTime: metav1.NewTime(c.Clock.Now())})
	return c.writeStatus(ctx, a, st)
}

// Metrics are those of adapters.
type Metrics struct {
	ready *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them; the objects watched are counted in the world given.
func NewMetrics(r prometheus.Registerer, w *world.World) (*Metrics, error) {
	m := &Metrics{ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_adapter_ready",
		Help: "1 when an adapter is ready for use, else 0."}, []string{"adapter"})}
	objects := &objectCollector{world: w, desc: prometheus.NewDesc("flyball_cache_objects", "Objects watched for an adapter.", []string{"adapter"}, nil)}
	for _, collector := range []prometheus.Collector{m.ready, objects} {
		if err := r.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) setReady(name string, ready bool) {
	value := 0.0
	if ready {
		value = 1
	}
	m.ready.WithLabelValues(name).Set(value)
}

// forget removes every series of an adapter that is gone.
func (m *Metrics) forget(name string) { m.ready.DeleteLabelValues(name) }

// objectCollector counts the objects in the watches when it is scraped.
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
