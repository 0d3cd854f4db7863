package cases

import (
	"encoding/json"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Case is the content of case.yaml: a claim on the object in object.yaml, and the expected results.
type Case struct {
	// Ask is the claim of a policy on the object.
	Ask Ask `json:"ask"`
	// State is the expected state of the object under the claim.
	State string `json:"state"`
	// Ready is true if the object in object.yaml is expected to be settled; absent: not checked.
	Ready *bool `json:"ready,omitempty"`
	// Impact is the expected impact of the write on running pods; absent: not checked.
	Impact v1alpha1.Impact `json:"impact,omitempty"`
	// Message is the expected message about the object; absent: not checked.
	Message string `json:"message,omitempty"`
	// Created and Deleted list the expected actions of the object's creation and deletion; absent: not checked.
	Created *[]string `json:"created,omitempty"`
	Deleted *[]string `json:"deleted,omitempty"`
	// Classify lists edits of the object with their expected actions.
	Classify []Edit `json:"classify,omitempty"`
}

// Ask has the form of asleepAs in a schedule. Sleep is the default of asleepAs. Amounts may be claimed too.
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
	// Want lists the expected actions of the edit, by their names in freezes.
	Want []string `json:"want"`
	// Undone lists the expected actions of the reverse edit; absent: the same as in Want.
	Undone []string `json:"undone,omitempty"`
}

// Plan returns the plan for the claim, as if one schedule had made it.
func (a *Ask) Plan() workload.Plan {
	by := workload.Policy{Kind: "ClusterSchedule", Name: "nights"} // may write in any namespace
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
