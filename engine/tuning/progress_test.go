package tuning

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// TestHowLongNothingMoves: only a larger number of ready pods with the requests counts as progress, not pods that come
// and go. Other requests start the time again.
func TestHowLongNothingMoves(t *testing.T) {
	noon := time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)
	asked := map[workload.Amount]int64{{Component: "main", Resource: workload.CPU}: 500}
	pods := func(cpu int64, ready ...bool) (all []*workload.Pod) {
		for _, r := range ready {
			all = append(all, &workload.Pod{Ready: r, Containers: []workload.Container{{Name: "main", Resources: workload.Resources{CPU: cpu}},
				{Name: "injected"}}})
		}
		return all
	}
	var r progress
	for _, look := range []struct {
		reason         string
		minute         int
		since          time.Time
		pods           []*workload.Pod
		still, unready int
	}{
		{"it begins", 0, noon, pods(1000, true, true), 0, 0},
		{"a pod comes that is not ready", 5, noon, append(pods(1000, true), pods(500, false)...), 5, 1},
		{"it is ready", 7, noon, append(pods(1000, true), pods(500, true)...), 0, 0},
		{"it is not ready any more", 8, noon, append(pods(1000, true), pods(500, false)...), 1, 1},
		{"and is again", 12, noon, append(pods(1000, true), pods(500, true)...), 5, 0},
		{"no pod is left", 17, noon, nil, 10, 0},
		{"other requests", 18, noon.Add(time.Hour), nil, 0, 0},
	} {
		still, unready := r.update(&workload.Fleet{Pods: look.pods}, asked, look.since, noon.Add(time.Duration(look.minute)*time.Minute))
		if still != time.Duration(look.still)*time.Minute || len(unready) != look.unready {
			t.Errorf("%s: nothing moves for %s, %d are not ready", look.reason, still, len(unready))
		}
	}
	r.again(noon.Add(time.Hour))
	if still, _ := r.update(&workload.Fleet{}, asked, noon.Add(time.Hour), noon.Add(61*time.Minute)); still != time.Minute {
		t.Errorf("counted anew: nothing moves for %s", still)
	}
}
