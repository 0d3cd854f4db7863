package tuning

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Recorder is a server with recorded usage of pods.
type Recorder interface {
	// Read returns the usage of the pods of some namespaces at an instant.
	Read(ctx context.Context, namespaces []string, at time.Time) (map[types.NamespacedName]measure.Pod, error)
	// History returns the recorded samples of the pods of a target, the oldest first.
	History(ctx context.Context, r measure.Range) ([]workload.Sample, error)
	// Host returns the server's address without credentials.
	Host() string
}

// Verticals are the VerticalPodAutoscalers of the cluster.
type Verticals interface {
	// List returns all VerticalPodAutoscalers.
	List(ctx context.Context) (*measure.AllVerticals, error)
	// Make creates a VerticalPodAutoscaler that only recommends. Remove deletes a VerticalPodAutoscaler that Make
	// created.
	Make(ctx context.Context, meta metav1.ObjectMeta, of measure.TargetRef) error
	Remove(ctx context.Context, m measure.MadeVertical) error
}

// Budgets are the bounds of pods in the cluster, such as PodDisruptionBudgets.
type Budgets interface {
	// Need starts the watches. Drop ends them.
	Need(ctx context.Context) error
	Drop()
}

// NodeSizes returns the sizes of the cluster's nodes.
type NodeSizes interface {
	Budgets
	// Largest returns the largest allocatable resources of a node, or false while nodes are still being read.
	Largest() (most workload.Requests, known bool)
}

// follow starts or ends the watches of pods with their containers, of nodes, and of budgets. It returns the reason why
// pods are unknown.
func (l *Actuator) follow(ctx context.Context, needed, acts bool) (trouble string) {
	for b, needed := range map[Budgets]bool{l.opts.Budgets: acts, l.opts.Nodes: needed} {
		if !needed {
			b.Drop()
		} else if err := b.Need(ctx); err != nil {
			l.opts.Log.Error(err, "Failed to watch the bounds of pods; will retry")
		}
	}
	if needed {
		if err := l.members.NeedContainers(ctx); err != nil {
			return err.Error()
		}
		return ""
	}
	if err := l.members.DropContainers(ctx); err != nil {
		l.opts.Log.Error(err, "Failed to end the watch of pods with their containers")
	}
	return ""
}

// tuners returns facts about the tuning policies of a snapshot. needed is true if there is any such policy, including
// one with pods to restore. measures is true if a policy measures. acts is true if a policy acts.
func tuners(s *world.Snapshot) (needed, measures, acts bool) {
	for p := range s.Policies {
		if p.Tuner != nil {
			needed, measures, acts = true, measures || !p.Deleting, acts || !p.Deleting && p.Tuner.ActsOnTargets()
		}
	}
	return needed, measures, acts
}

// measured has the usage of all pods by the two sources. A source is nil if it was not asked or has not answered.
type measured struct {
	metrics, recorded map[types.NamespacedName]measure.Pod
}

// of returns the usage that a policy learns from: recorded usage if the policy asks for it and the Prometheus server
// has answered, else usage from the metrics API.
func (m measured) of(p *world.Policy) map[types.NamespacedName]measure.Pod {
	if p.Tuner.Source().Recorded && m.recorded != nil {
		return m.recorded
	}
	return m.metrics
}

// measure asks the sources in use, and stores their faults. It returns false once the context has ended.
func (l *Actuator) measure(ctx context.Context, tuned map[workload.Ref]*world.Policy, watching string) (m measured, ok bool) {
	namespaces, live := map[string]bool{}, false
	for ref, p := range tuned {
		if p.Tuner.Source().Recorded {
			namespaces[ref.Namespace] = true
		} else {
			live = true
		}
	}
	l.readVerticals(ctx)
	var noRecords, noMetrics error
	readable := map[string]bool{}
	if len(namespaces) > 0 {
		m.recorded, noRecords = l.readRecorded(ctx, slices.Sorted(maps.Keys(namespaces)))
		readable[string(v1alpha1.HistoryPrometheus)] = noRecords == nil
	}
	if live || m.recorded == nil {
		m.metrics, noMetrics = l.meter.Read(ctx)
	}
	if ctx.Err() != nil {
		return m, false
	}
	if noMetrics != nil {
		watching = noMetrics.Error()
	} else if watching == "" {
		watching = l.members.Trouble()
	}
	if live || m.recorded == nil {
		readable[string(v1alpha1.HistoryMetrics)] = watching == ""
	}
	l.book.setReadable(readable)
	lost := ""
	if noRecords != nil {
		lost = noRecords.Error() + "; the metrics API is read meanwhile"
	}
	l.tell(l.book.setTrouble(watching, lost))
	return m, true
}

func (l *Actuator) readRecorded(ctx context.Context, namespaces []string) (map[types.NamespacedName]measure.Pod, error) {
	if l.opts.Recorder == nil {
		return nil, errNoRecorder
	}
	return l.opts.Recorder.Read(ctx, namespaces, l.opts.Clock.Now())
}

var errNoRecorder = errors.New("spec.history.source is Prometheus, and the manager was started with none (--prometheus)")
