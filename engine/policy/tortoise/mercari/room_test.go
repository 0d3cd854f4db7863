package mercari

import (
	"fmt"
	"testing"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// TestFullRecommenderForgetsOnlyContainersMissingInTheTarget checks that the number of learnt containers is limited.
// Only if there is no room,
// containers are forgotten, and only those that the target does not have.
func TestFullRecommenderForgetsOnlyContainersMissingInTheTarget(t *testing.T) {
	var r Recommender
	see := func(name string) {
		r.Observe(workload.Sample{At: start, Container: name, CPU: 1000, Memory: -1, Replicas: 1})
	}
	known := func(name string) bool {
		target, _ := r.CPU(name, start)
		return target > 0
	}
	has := func(name string) bool { return name == "2" || name == "new" }
	for i := range tune.MaxContainers - 1 {
		see(fmt.Sprint(i))
	}
	if r.MakeRoom(has); !known("1") {
		t.Error("with room for one more, a container was forgotten")
	}
	see("last")
	if see("new"); known("new") {
		t.Error("more containers are learnt than there is room for")
	}
	if r.MakeRoom(has); known("1") || known("last") || !known("2") {
		t.Error("without room, not just the containers were forgotten that the target does not have")
	}
	if see("new"); !known("new") {
		t.Error("there is no room for a container that is new")
	}
}
