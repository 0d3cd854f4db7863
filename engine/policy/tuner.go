package policy

import (
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Tuner learns from the usage of the pods of a policy's targets. The engine measures usage and keeps a
// Learner for each target; the result of a Learner reaches the pipeline as advice.
type Tuner interface {
	// Precedence returns the rank among the tuning policies of a target. The highest rank wins; among equal ranks the first
	// name wins.
	Precedence() int32
	// Mode returns the mode in which recommendations are applied, as in the spec.
	Mode() string
	// MaxDisruption returns the largest share of targets, in percent, whose pods may restart at once because of tuning.
	MaxDisruption() int
	// ActsOnTargets reports whether the policy changes targets. It returns false for a policy that only recommends.
	ActsOnTargets() bool
	// NewLearner returns a Learner for a target. kept is the stored state of an earlier Learner. If kept is empty, the
	// Learner begins anew. The error means that kept is unreadable.
	NewLearner(kept []byte) (Learner, error)
	// Adopt returns a Learner for this version of the policy. It continues from the learnt state of a Learner for an
	// earlier version.
	Adopt(Learner) Learner
	// Source returns the source of usage.
	Source() Source
	// FillTuned edits the part of an object's status about tuning.
	FillTuned(obj Object, s TunedSummary)
}

// Source is a source of usage.
type Source struct {
	// Recorded is true if the source is a server with a history. Window is then the requested length of the history.
	// Otherwise the source is the metrics API.
	Recorded bool
	Window   time.Duration
	// Vertical is true if requests come from the targets' VerticalPodAutoscalers. MakesVertical is true if a missing
	// VerticalPodAutoscaler is to be created.
	Vertical, MakesVertical bool
}

// Learner learns from a target and decides about it. It calls no clock, so the same history gives the same numbers.
type Learner interface {
	// Observe learns from samples of the target's containers.
	Observe(samples ...workload.Sample)
	// Decide returns the result at an instant.
	Decide(Seen) Found
	// Keep returns the state from which an equal Learner can be restored. Its size is limited.
	Keep() []byte
	// HistoryRange returns the times of the first and the newest learnt sample; zero: none.
	HistoryRange() (first, newest time.Time)
	// Backfill learns from recorded samples, oldest first. They replace all earlier learnt samples.
	Backfill(samples []workload.Sample)
}

// Seen is the input of a Learner besides samples.
type Seen struct {
	Now time.Time
	// Busy is true if slow work has to wait for a later call.
	Busy bool
	// Since is the time since which samples were possible: pods exist and usage is measured.
	Since time.Time
	// Own are the owner's requests and limits.
	Own workload.Allocations
	// Replicas is the wanted number of replicas. Ready is the number of ready pods.
	Replicas, Ready int
	// Requested is the average request of the ready pods, in milli-CPU by container; empty: unknown.
	Requested map[string]int64
	// Least is the smallest request of any pod, ready or not, by container. Largest is the largest such request. Empty:
	// unknown.
	Least, Largest map[string]workload.Requests
	// Started are the times from creation to readiness of the pods that became ready since the last call.
	Started []time.Duration
	// Stuck is true if the autoscaler cannot read its metrics.
	Stuck bool
	// Autoscaler is the target's autoscaler; nil: none.
	Autoscaler *SeenAutoscaler
	// Verticals are the VerticalPodAutoscalers of the target, by name.
	Verticals []SeenVertical
	// Pods is the state of in-place changes of the pods.
	Pods SeenPods
	// Node has the largest allocatable resources of a node; zero: unknown.
	Node workload.Requests
}

// SeenPods is the state of in-place changes.
type SeenPods struct {
	// Able is true if requests belong to a pod template, so pods can be changed in place.
	Able bool
	// InTemplate is true if the policy has set requests in the pod template. Refused is true if a pod cannot be
	// changed in place.
	InTemplate, Refused bool
	// Settled is true if no roll-out or other change of the target is under way. Stuck is the reason why pods from the
	// current template do not become ready; empty: nothing hinders them.
	Settled bool
	Stuck   string
	// Unable is the reason why pods get no additional CPU for their start; empty: pods can get additional CPU.
	Unable string
}

// SeenAutoscaler is an autoscaler with its owner's values.
type SeenAutoscaler struct {
	workload.Ref
	Bounds      workload.Bounds
	Utilisation []workload.Utilisation
}

// Found is the result of a Learner.
type Found struct {
	// Advice is the tuning advice, without its field By. Nil: there is no advice (yet).
	Advice *workload.Advice
	// Report is the result for users, without the mode and the applied values.
	Report v1alpha1.RecommendationStatus
	// Trouble is the part of the spec that does not fit the target; empty: none.
	Trouble string
	// Saved is the reduction of requests by the recommendation, over all pods.
	Saved workload.Requests
	// Next is the time of the next planned change; zero: none.
	Next time.Time
	// Chose is true if the numbers were chosen anew in this call, which is slow.
	Chose bool
}

// TunedSummary is the result for all targets of a policy.
type TunedSummary struct {
	// Phases counts the targets by phase.
	Phases map[string]int
	Saved  workload.Requests
	// Next is the time of the next planned change; zero: none.
	Next time.Time
	// Pods is the state of pods changed in place; Pods.Pods is 0 without such pods.
	Pods workload.Resizing
}

// ResizedPods returns the status of pods changed in place.
func ResizedPods(r workload.Resizing) *v1alpha1.ResizedPods {
	return &v1alpha1.ResizedPods{
		Total: int32(r.Pods), Resized: int32(r.Resized), Waiting: int32(r.Waiting), InProgress: int32(r.InProgress), Deferred: int32(r.Deferred),
		Infeasible: int32(r.Infeasible), Message: r.Message,
	}
}
