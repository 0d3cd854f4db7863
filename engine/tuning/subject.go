package tuning

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// subject is a tuned target.
type subject struct {
	ref    workload.Ref
	uid    string
	policy workload.Policy
	// rests is true once the adapter is gone. Then only the existence of a checkpoint is known.
	rests bool
	// form identifies the version of the policy.
	form    string
	learner policy.Learner
	// since is the time from which the target has had pods and has been measured; zero: it has no pods.
	since time.Time
	// stamps are the times of the last measurement, by the UID of the pod.
	stamps map[string]string
	// killed is the time up to which kills have been counted, in seconds since 1970.
	killed int64
	// born is the time from which starts of pods are counted, in seconds since 1970. starts has the pods whose start
	// was counted.
	born   int64
	starts map[string]bool
	// blind is true while the autoscaler cannot read its metrics.
	blind bool
	found policy.Found
	// has holds the present numbers of the pods and the autoscaler.
	has podsize.Numbers
	// pods is the progress of changes in place.
	pods workload.Resizing
	// kept is the time of the last checkpoint.
	kept time.Time
	// recalled is the state of the recorded history.
	recalled recalled
	// unmade is the reason why no VerticalPodAutoscaler could be created for the target; empty: none.
	unmade string
	// progress is that of the last roll-out. stuck is the reason why the roll-out does not become ready; empty:
	// none.
	progress progress
	stuck    string
	reported
	announced  announced
	constraint constraint
}

const (
	// settled is the time for which a pod must be ready before its usage counts as demand.
	settled = 30 * time.Second
	// lookBack is the time before the first look from which kills count. It covers kills while no manager ran. A kill
	// that is counted twice has no further effect.
	lookBack = time.Hour
)

// subject returns the state of a target. For a new target it reads the checkpoint.
func (l *Actuator) subject(ctx context.Context, s *world.Snapshot, ref workload.Ref, p *world.Policy) (*subject, error) {
	obj := s.Object(ref)
	if obj == nil {
		return nil, fmt.Errorf("%s has gone", ref)
	}
	form := fmt.Sprintf("%s %d", p.Object.GetUID(), p.Object.GetGeneration())
	x := l.subjects[ref]
	if x != nil && !x.rests && x.uid == obj.UID && x.policy == p.ID {
		if x.form != form {
			x.learner, x.form = p.Tuner.Adopt(x.learner), form
		}
		return x, nil
	}
	if x != nil {
		x.recalled.drop()
	}
	kept, err := l.store.Kept(ctx, ref, obj.UID, p.ID)
	if err != nil {
		return nil, err
	}
	learner, err := p.Tuner.NewLearner(kept.Data)
	if err != nil {
		kept.Recalled = time.Time{}
		l.opts.Log.Error(err, "Failed to read the usage checkpoint; learning begins anew", "target", ref.String())
		if learner, err = p.Tuner.NewLearner(nil); err != nil {
			return nil, err
		}
	}
	x = &subject{ref: ref, uid: obj.UID, policy: p.ID, form: form, learner: learner, stamps: map[string]string{}, kept: l.opts.Clock.Now(),
		killed: l.pods.Now().Add(-lookBack).Unix(), born: l.pods.Now().Unix(), starts: map[string]bool{}, recalled: recalled{at: kept.Recalled}}
	l.subjects[ref] = x
	return x, nil
}

// observe returns the input of a learner besides samples. It returns false if the target is gone, or not fully read yet.
func (l *Actuator) observe(s *world.Snapshot, ref workload.Ref, f *workload.Fleet, x *subject) (policy.Seen, bool) {
	now := l.opts.Clock.Now()
	k, obj := s.Kind(ref.GroupKind), s.Object(ref)
	if k == nil || obj == nil || !k.Adapter.KeepsAmounts() {
		return policy.Seen{}, false
	}
	if x.since.IsZero() {
		x.since = now
	}
	node, known := l.opts.Nodes.Largest()
	if !known {
		return policy.Seen{}, false
	}
	observed := k.Adapter.Observe(obj)
	seen := policy.Seen{Now: now, Since: x.since, Own: observed.Allocations, Replicas: len(f.Pods), Pods: l.seenPods(k, obj, ref, x),
		Verticals: l.verticals.Of(ref), Node: node}
	if k.Can([]v1alpha1.Capability{v1alpha1.CapabilityScale}) {
		seen.Replicas = 0
		for _, c := range observed.Components {
			seen.Replicas += int(c.Replicas)
		}
	}
	for _, p := range f.Pods {
		if p.Ready {
			seen.Ready++
		}
	}
	seen.Requested, seen.Started = podsize.Requested(f), x.started(f)
	seen.Least, seen.Largest = podsize.Extremes(f)
	seen.Pods.Settled, seen.Pods.Stuck, seen.Pods.Unable = observed.Settled, x.stuck, l.boostTrouble(f)
	x.blind = false
	for _, g := range s.Autoscalers(ref) {
		gk, autoscaler := s.Kind(g.GroupKind), s.Object(g)
		if gk == nil || autoscaler == nil || autoscaler.Deleting {
			continue
		}
		if !gk.Adapter.KeepsAmounts() {
			return policy.Seen{}, false
		}
		is := gk.Adapter.Observe(autoscaler)
		seen.Stuck, x.blind = is.Blind, is.Blind
		seen.Autoscaler = &policy.SeenAutoscaler{Ref: g, Bounds: is.Bounds, Utilisation: is.Utilisation}
		break
	}
	return seen, true
}

// seenPods returns the progress of changes of the pods in place.
func (l *Actuator) seenPods(k *decide.Kind, obj *workload.Object, ref workload.Ref, x *subject) policy.SeenPods {
	n := l.resized.Note(ref)
	return policy.SeenPods{
		Able: k.Adapter.SizesPods(), Refused: n.Policy == x.policy && n.Stuck(),
		InTemplate: hasSet(obj, x.policy),
	}
}

// longStart is the longest start that counts. In a longer start, the pod waited for something else.
const longStart = time.Hour

// started returns the times, from creation until ready, of the pods that became ready since the last look. Pods that
// are older than the manager do not count, because they may have become ready several times.
func (x *subject) started(f *workload.Fleet) (took []time.Duration) {
	known := make(map[string]bool, len(f.Pods))
	for _, p := range f.Pods {
		if !p.Ready && !x.starts[p.UID] {
			continue
		}
		known[p.UID] = true
		if d := time.Duration(p.Changed-p.Created) * time.Second; !x.starts[p.UID] && p.Created >= x.born && d >= 0 && d <= longStart {
			took = append(took, d)
		}
	}
	x.starts = known
	return took
}

// sum adds up the usage of a container in several pods. cpu is the sum over the counted pods. memory is the largest
// usage of a pod, negative if unknown.
type sum struct {
	cpu, memory float64
	pods, kills int
	limit       int64
	young       bool
}

// add adds the container's usage in a pod. Unknown usage does not count.
func (s *sum) add(c measure.Container) {
	s.memory = max(s.memory, c.MemoryBytes)
	if c.MilliCPU >= 0 {
		s.cpu, s.pods = s.cpu+c.MilliCPU, s.pods+1
	}
}

// samples returns the samples of a measurement, or none if nothing was measured since the last one. A pod is used once
// it has been ready for a while. If there is no such pod, the other ready pods are used, and their samples are marked
// as samples of starting pods.
func (x *subject) samples(at, now time.Time, f *workload.Fleet, measured map[types.NamespacedName]measure.Pod) []workload.Sample {
	stamps, fresh, ready := map[string]string{}, false, 0
	sums := map[string]*sum{}
	anySettled := false
	for _, p := range f.Pods {
		anySettled = anySettled || isSettled(p, now)
	}
	newest := x.killed
	for _, p := range f.Pods {
		x.addKills(p, sums, &newest)
		if !p.Ready {
			continue
		}
		ready++
		m, ok := measured[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}]
		if !ok {
			continue
		}
		stamps[p.UID] = m.Stamp
		fresh = fresh || x.stamps[p.UID] != m.Stamp
		if anySettled && !isSettled(p, now) {
			continue
		}
		for _, c := range m.Containers {
			s := of(sums, c.Name)
			s.add(c)
			s.young = !anySettled
		}
	}
	x.stamps, x.killed = stamps, newest
	return list(at, sums, fresh, ready)
}

func of(sums map[string]*sum, name string) *sum {
	if sums[name] == nil {
		sums[name] = &sum{memory: -1}
	}
	return sums[name]
}

// list returns one sample for each container with a measurement or with kills for lack of memory.
func list(at time.Time, sums map[string]*sum, fresh bool, ready int) []workload.Sample {
	var all []workload.Sample
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		s := sums[name]
		sample := workload.Sample{At: at, Container: name, CPU: -1, Memory: -1, OOMKills: s.kills, MemoryLimit: float64(s.limit),
			Starting: s.young}
		if fresh && (s.pods > 0 || s.memory >= 0) {
			sample.Memory, sample.Replicas = s.memory, ready
		}
		if fresh && s.pods > 0 {
			sample.CPU = s.cpu / float64(s.pods)
		}
		if sample.Replicas > 0 || sample.OOMKills > 0 {
			all = append(all, sample)
		}
	}
	return all
}

// addKills counts the kills for lack of memory after the last counted kill.
func (x *subject) addKills(p *workload.Pod, sums map[string]*sum, newest *int64) {
	for _, c := range p.Containers {
		if c.KilledAt > x.killed && c.MemoryLimit > 0 {
			s := of(sums, c.Name)
			s.kills++
			s.limit = max(s.limit, c.MemoryLimit)
			*newest = max(*newest, c.KilledAt)
		}
	}
}

// isSettled reports whether a pod is no longer starting: it has been ready for a while, and has no boost.
func isSettled(p *workload.Pod, now time.Time) bool {
	_, boosted := podsize.Boosted(p)
	return !boosted && p.Ready && now.Unix()-p.Changed >= int64(settled/time.Second)
}
