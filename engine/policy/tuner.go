package policy

import (
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/policy/tortoise/usage"
	"flyball.dev/flyball/engine/workload"
)

// Tuner is an extra of policies that learn from what the pods of their targets use. The engine measures, and keeps a Mind for each target;
// what a Mind finds comes to the pipeline as advice.
type Tuner interface {
	// Precedence orders the policies that select one target: it is tuned by the one with the highest, or of several the one whose name
	// sorts first.
	Precedence() int32
	// Mode says what becomes of what is recommended.
	Mode() v1alpha1.TortoiseMode
	// MaxDisruption is the largest share of the targets, in percent, whose pods may be restarted at once by what is tuned.
	MaxDisruption() int
	// Acts says whether targets are changed by it: not where it only recommends.
	Acts() bool
	// NewMind makes what learns of one target, from what an earlier one kept; nothing: it begins anew. With an error what was kept cannot
	// be read.
	NewMind(kept []byte) (Mind, error)
	// Adopt gives a Mind of an earlier form of the policy, which goes on with what it has learnt.
	Adopt(Mind) Mind
	// Source says where the engine is to learn of usage.
	Source() Source
	// FillTuned edits the status of an object of the policy's kind: the part that tells what was found.
	FillTuned(obj Object, s TunedSummary)
}

// Source is where usage comes from.
type Source struct {
	// Recorded says that it comes from a server that keeps a history, and Window how far back that is asked for. Otherwise it comes from
	// the metrics API.
	Recorded bool
	Window   time.Duration
	// Vertical says that requests come from the VerticalPodAutoscalers of targets, and MakesVertical that one is to be made for a target that
	// has none.
	Vertical, MakesVertical bool
}

// Mind learns of one target and decides for it. It calls no clock, so that the same history gives the same numbers.
type Mind interface {
	// Observe learns from what the containers of a target used.
	Observe(samples ...Sample)
	// Decide says what is to be asked for at an instant.
	Decide(Seen) Found
	// Keep gives all that an equal Mind can be made of, of a limited size.
	Keep() []byte
	// Learnt gives the instants of the first and of the newest sample that was learnt from; zero: there was none.
	Learnt() (first, newest time.Time)
	// Recall learns from samples that were recorded before it began to look, oldest first, in place of all that was learnt from samples before.
	Recall(samples []Sample)
}

// Sample is what one container of a target used at an instant.
type Sample = usage.Sample

// Seen is what a Mind looks at besides samples.
type Seen struct {
	Now time.Time
	// Since is since when there could have been samples: there are pods, and somebody looks.
	Since time.Time
	// Own are the requests and limits as their owner has them.
	Own workload.Allocations
	// Replicas are those wanted now, Ready those that are ready.
	Replicas, Ready int
	// Requested is what the pods that are ready request on average, in milli-CPU by container; none: it is not known.
	Requested map[string]int64
	// Largest is the most that any pod requests, ready or not, by container; none: it is not known.
	Largest map[string]workload.Requests
	// Started are the pods that became ready since the last look: how long each took from its creation.
	Started []time.Duration
	// Stuck says that the autoscaler cannot read its metrics.
	Stuck bool
	// Governor is what governs the target; nil: nothing does.
	Governor *SeenGovernor
	// Verticals are the VerticalPodAutoscalers of the target, by name.
	Verticals []SeenVertical
	// Pods is what is known of changes of its pods in place.
	Pods SeenPods
	// Node is what the largest node has for pods, by resource; zero: not known.
	Node workload.Requests
}

// SeenPods is what is known of changes in place.
type SeenPods struct {
	// Able is true where requests are those of a pod template, so that pods can be changed in place.
	Able bool
	// InTemplate says that the policy has requests in the pod template now, Refused that some pod cannot be changed in place.
	InTemplate, Refused bool
}

// SeenGovernor is an autoscaler as its owner has it.
type SeenGovernor struct {
	workload.Ref
	Bounds      workload.Bounds
	Utilisation []workload.Utilisation
}

// Found is what a Mind has found.
type Found struct {
	// Advice is what is to be asked for; its By is empty. Nil: nothing is (yet).
	Advice *workload.Advice
	// Report has the same for people. The mode, and what is applied, are not filled in.
	Report v1alpha1.RecommendationStatus
	// Trouble says what in the spec does not fit the target; empty: nothing.
	Trouble string
	// Saved is what would be requested less by what was found, over all pods.
	Saved workload.Requests
	// Next is when the next change is due that is known of; zero: none is.
	Next time.Time
}

// TunedSummary is what has been found for all targets of a policy.
type TunedSummary struct {
	// Phases counts the targets by phase.
	Phases map[string]int
	Saved  workload.Requests
	// Next is when the next change is due that is known of; zero: none is.
	Next time.Time
	// Pods is what has become of the pods that are changed in place; without any, Pods.Pods is 0.
	Pods fleet.Resizing
}

// ResizedPods tells of pods that are changed in place.
func ResizedPods(r fleet.Resizing) *v1alpha1.ResizedPods {
	return &v1alpha1.ResizedPods{
		Total: int32(r.Pods), Resized: int32(r.Resized), Waiting: int32(r.Waiting), InProgress: int32(r.InProgress), Deferred: int32(r.Deferred),
		Infeasible: int32(r.Infeasible), Message: r.Message,
	}
}
