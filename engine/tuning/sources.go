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
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/usage"
	"flyball.dev/flyball/engine/usage/recorded"
	"flyball.dev/flyball/engine/usage/vertical"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Recorder is a server that keeps a history of what pods use.
type Recorder interface {
	// Read gives what the pods of some namespaces use at an instant.
	Read(ctx context.Context, namespaces []string, at time.Time) (map[types.NamespacedName]usage.Pod, error)
	// History gives what is recorded of the pods of one target, oldest first.
	History(ctx context.Context, r recorded.Range) ([]policy.Sample, error)
	// Host is its address, without credentials.
	Host() string
}

// Verticals are the VerticalPodAutoscalers of the cluster.
type Verticals interface {
	// List gives all of them.
	List(ctx context.Context) (*vertical.All, error)
	// Make makes one that recommends and changes nothing. Remove deletes one that was made.
	Make(ctx context.Context, meta metav1.ObjectMeta, of vertical.Of) error
	Remove(ctx context.Context, m vertical.Made) error
}

// Budgets are what bounds pods in the cluster, such as PodDisruptionBudgets.
type Budgets interface {
	// Need has them watched. Drop ends that.
	Need(ctx context.Context) error
	Drop()
}

// NodeSizes knows how large the nodes of the cluster are.
type NodeSizes interface {
	Budgets
	// Largest returns the most that any of them has for pods. It is false while they are still being read.
	Largest() (most workload.Requests, known bool)
}

// follow has pods watched with their containers, nodes, and budgets, or not any more. It says why pods are not known.
func (l *Loop) follow(ctx context.Context, needed, acts bool) (trouble string) {
	for b, needed := range map[Budgets]bool{l.opts.Budgets: acts, l.opts.Nodes: needed} {
		if !needed {
			b.Drop()
		} else if err := b.Need(ctx); err != nil {
			l.opts.Log.Error(err, "Failed to watch what bounds pods: it is tried again")
		}
	}
	if needed {
		if err := l.members.NeedContainers(ctx); err != nil {
			return err.Error()
		}
		return ""
	}
	if err := l.members.DropContainers(ctx); err != nil {
		l.opts.Log.Error(err, "pods are watched anew")
	}
	return ""
}

// tuners says whether there are policies that tune: any, also those that have still to give pods back what they had, any that measures, and any
// that acts.
func tuners(s *world.Snapshot) (needed, measures, acts bool) {
	for p := range s.Policies {
		if p.Tuner() != nil {
			needed, measures, acts = true, measures || !p.Deleting, acts || !p.Deleting && p.Tuner().Acts()
		}
	}
	return needed, measures, acts
}

// measured is what all pods use, by the two sources; nil: one was not asked, or has not answered.
type measured struct {
	metrics, recorded map[types.NamespacedName]usage.Pod
}

// of gives what a policy learns from. What a server that keeps a history does not say is taken from the metrics API.
func (m measured) of(p *world.Policy) map[types.NamespacedName]usage.Pod {
	if p.Tuner().Source().Recorded && m.recorded != nil {
		return m.recorded
	}
	return m.metrics
}

// measure asks the sources that are in use, and takes down what is wrong with them. It is false where the context has ended.
func (l *Loop) measure(ctx context.Context, tuned map[workload.Ref]*world.Policy, watching string) (m measured, ok bool) {
	namespaces, live := map[string]bool{}, false
	for ref, p := range tuned {
		if p.Tuner().Source().Recorded {
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

func (l *Loop) readRecorded(ctx context.Context, namespaces []string) (map[types.NamespacedName]usage.Pod, error) {
	if l.opts.Recorder == nil {
		return nil, errNoRecorder
	}
	return l.opts.Recorder.Read(ctx, namespaces, l.opts.Clock.Now())
}

var errNoRecorder = errors.New("spec.history.source is Prometheus, and the manager was started with none (--prometheus)")
