package cases

import (
	"encoding/json"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Case is case.yaml: what is asked of object.yaml, and what comes of it.
type Case struct {
	// Ask is what a policy asks for.
	Ask Ask `json:"ask"`
	// State is what the object is then.
	State string `json:"state"`
	// Ready is whether the object as it is has settled; absent: not judged.
	Ready *bool `json:"ready,omitempty"`
	// Impact of the write on running pods; absent: not judged.
	Impact v1alpha1.Impact `json:"impact,omitempty"`
	// Message is what is said of the object; absent: not judged.
	Message string `json:"message,omitempty"`
	// Created and Deleted list what the object's creation and deletion mean to a freeze; absent: not judged.
	Created *[]string `json:"created,omitempty"`
	Deleted *[]string `json:"deleted,omitempty"`
	// Classify lists edits of the object and what they mean to a freeze.
	Classify []Edit `json:"classify,omitempty"`
}

// Ask has the shape of asleepAs in a schedule, with sleep for its default.
type Ask struct {
	Sleep             bool `json:"sleep,omitempty"`
	v1alpha1.AsleepAs `json:",inline"`
	Amounts           `json:",inline"`
}

// Edit is a change of the object.
type Edit struct {
	Name string `json:"name"`
	// Mutate is a JSON merge patch, or a JSON patch if it is a list.
	Mutate json.RawMessage `json:"mutate"`
	// Want lists the actions, as freezes spell them.
	Want []string `json:"want"`
	// Undone lists the actions of taking the edit back; absent: the same.
	Undone []string `json:"undone,omitempty"`
}

// Plan is what the engine makes of the ask, on behalf of one schedule.
func (a *Ask) Plan() workload.Plan {
	by := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	since := time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)
	size := func(s workload.Size) *workload.Claim[workload.Size] {
		return &workload.Claim[workload.Size]{Value: s, By: by, Since: since}
	}
	var p workload.Plan
	switch {
	case a.Sleep:
		p.Size = size(workload.Size{Mode: workload.SizeSleep})
	case a.Replicas != nil:
		p.Size = size(workload.Size{Mode: workload.SizeAtMost, Replicas: *a.Replicas})
	case a.Percent != nil:
		p.Size = size(workload.Size{Mode: workload.SizePercent, Percent: *a.Percent})
	}
	if a.Bounds != nil && a.Bounds.Min != nil {
		p.Min = &workload.Claim[int64]{Value: *a.Bounds.Min, By: by, Since: since}
	}
	if a.Bounds != nil && a.Bounds.Max != nil {
		p.Max = &workload.Claim[int64]{Value: *a.Bounds.Max, By: by, Since: since}
	}
	if a.Hold != nil && *a.Hold {
		p.Hold = &workload.Claim[bool]{Value: true, By: by, Since: since}
	}
	p.Amounts = a.claims(by, since)
	for key, value := range a.Annotations {
		if p.Annotations == nil {
			p.Annotations = map[string]workload.Claim[string]{}
		}
		p.Annotations[key] = workload.Claim[string]{Value: value, By: by, Since: since}
	}
	return p
}
