package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
)

// Index returns the pods of targets.
type Index interface {
	// Observe adds a listener to later changes of pods.
	Observe(l Listener)
	// Fleet returns the active pods of a target; false: not everything is known yet.
	Fleet(ref workload.Ref) (*workload.Fleet, bool)
	// Groups returns the direct owners of the pods below a target. Above returns the owners of an object; sure is true if
	// there can be no others.
	Groups(ref workload.Ref) []workload.Ref
	Above(ref workload.Ref) (refs []workload.Ref, sure bool)
	// Trouble returns the failure that keeps pods from being known. Awaited returns the lists that have to be read before.
	Trouble() string
	Awaited() []string
}

// Writer sends patches.
type Writer interface {
	Apply(ctx context.Context, resource schema.GroupVersionResource, obj *workload.Object, patch *workload.Patch) (apply.Outcome, error)
}

const (
	// parallel is the number of targets worked on at once.
	parallel = 4
	// FailuresAtMost is the number of failed writes after which the rest of a plan waits for the next try.
	FailuresAtMost = 3
)

// Skeleton is the common part of the actuators on pods of targets. Workers take targets, and owners of pods, from a queue.
// Changes of pods queue them after a pause. A write changes one pod, if it is unchanged since it was read.
type Skeleton struct {
	// Queue has the targets, and the owners of pods, to work on.
	Queue workqueue.TypedRateLimitingInterface[workload.Ref]
	// calm is the pause after a change of pods, so changes at the same time are planned together.
	calm    time.Duration
	members Index
	writer  Writer
}

// NewSkeleton returns a Skeleton with an empty queue.
func NewSkeleton(m Index, w Writer, calm time.Duration) *Skeleton {
	return &Skeleton{calm: calm, members: m, writer: w, Queue: workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[workload.Ref](time.Second, time.Minute))}
}

// Run calls process for queued targets until the context ends, and fault after a panic. A target whose process returns an
// error is queued again after a growing pause.
func (l *Skeleton) Run(ctx context.Context, process func(context.Context, workload.Ref) error, fault func(workload.Ref, error),
	log logr.Logger) {
	workers.Pool{Queue: l.Queue, Process: process, Fault: fault, Log: log}.Run(ctx, parallel)
}

// Add queues targets.
func (l *Skeleton) Add(refs ...workload.Ref) {
	for _, ref := range refs {
		l.Queue.Add(ref)
	}
}

// Calm queues targets after the pause for further changes.
func (l *Skeleton) Calm(refs ...workload.Ref) {
	for _, ref := range refs {
		l.Queue.AddAfter(ref, l.calm)
	}
}

// Write sends a patch of one pod. It fails with apply.ErrBehind if the pod has changed since it was read, and with
// apply.ErrUndone if the write has no effect.
func (l *Skeleton) Write(ctx context.Context, pod *workload.Pod, patch *workload.Patch) (apply.Outcome, error) {
	obj := &workload.Object{Namespace: pod.Namespace, Name: pod.Name, ResourceVersion: pod.Version}
	result, err := l.writer.Apply(ctx, podResource, obj, patch)
	return result, result.PodError(err)
}

// Each calls write for each change of a target, or of an owner, while the budget permits; nil: always. The target is queued
// for the rest, whose number is left. A pod changed since the read queues the target too, and the watch brings the
// present pod. The error is the first of other failures.
func Each[C any](l *Skeleton, ref workload.Ref, budget *workers.Budget, now func() time.Time, changes []C,
	write func(C) error) (left int, err error) {
	failures := 0
	for i, c := range changes {
		if budget != nil {
			if wait := budget.Take(now()); wait > 0 {
				l.Queue.AddAfter(ref, wait)
				return len(changes) - i, err
			}
		}
		switch failed := write(c); {
		case failed == nil:
		case errors.Is(failed, apply.ErrBehind):
			l.Calm(ref)
		default:
			failures++
			if err == nil {
				err = failed
			}
		}
		if failures == FailuresAtMost {
			break
		}
	}
	return 0, err
}

// Chain returns a direct owner of pods and the owners above it, the nearest first. unknown is the reason why there may be
// more owners; empty: no more.
func (l *Skeleton) Chain(group workload.Ref) (chain []workload.Ref, unknown string) {
	above, sure := l.members.Above(group)
	chain = append([]workload.Ref{group}, above...)
	if !sure {
		unknown = fmt.Sprintf("the owner of %s is not known yet", chain[len(chain)-1])
	}
	return chain, unknown
}

// Unread returns the reason why pods are not known, or "". impossible is the consequence if they cannot be read.
func (l *Skeleton) Unread(impossible string) string {
	if _, known := l.members.Fleet(workload.Ref{}); known {
		return ""
	}
	if why := l.members.Trouble(); why != "" {
		return "the pods are not known, so " + impossible + ": " + why
	}
	return "the pods are not known yet: the first list has not ended of " + strings.Join(l.members.Awaited(), ", ")
}

// GroupsIn returns those of some owners, in a namespace or in all, that own pods directly.
func GroupsIn(owners []workload.Ref, namespace string, pods func(workload.Ref) []*workload.Pod) []workload.Ref {
	return slices.DeleteFunc(owners, func(ref workload.Ref) bool {
		return namespace != "" && ref.Namespace != namespace || len(pods(ref)) == 0
	})
}
