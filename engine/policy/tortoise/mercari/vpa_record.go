//go:build ignore

// Command vpa_record feeds the usage of a container to the real recommender of the VerticalPodAutoscaler. It prints the
// target and the upper bound at the end of each day; testdata/vpa.csv is such an output. Flyball does not depend on the
// module of the recommender, so the command runs in a module of its own:
//
//	cd $(mktemp -d) && go mod init record && go get k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic@v1.8.1
//	cp .../engine/policy/tortoise/mercari/vpa_record.go . && go run vpa_record.go
package main

import (
	"fmt"
	"time"

	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
)

const mebi = 1 << 20

// defaults are the defaults of the recommender's flags.
var defaults = logic.RecommendationConfig{
	SafetyMarginFraction: 0.15, TargetCPUPercentile: 0.9, LowerBoundCPUPercentile: 0.5, UpperBoundCPUPercentile: 0.95,
	ConfidenceIntervalCPU:  24 * time.Hour,
	TargetMemoryPercentile: 0.9, LowerBoundMemoryPercentile: 0.5, UpperBoundMemoryPercentile: 0.95, ConfidenceIntervalMemory: 24 * time.Hour,
}

func main() {
	start := time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)
	state := model.NewAggregateContainerState()
	request := model.Resources{model.ResourceCPU: model.CPUAmountFromCores(1), model.ResourceMemory: model.MemoryAmountFromBytes(1024 * mebi)}
	var pods []*model.ContainerState
	for range 10 {
		pods = append(pods, model.NewContainerState(request, state))
	}
	fmt.Println("day,cpu,cpuUpper,memory,memoryUpper")
	for minute := range 14 * 24 * 60 {
		at := start.Add(time.Duration(minute) * time.Minute)
		replicas, milli, mebis := used(minute)
		for _, p := range pods[:replicas] {
			p.AddSample(&model.ContainerUsageSample{MeasureStart: at, Resource: model.ResourceCPU, Usage: model.CPUAmountFromCores(milli / 1000)})
			p.AddSample(&model.ContainerUsageSample{MeasureStart: at, Resource: model.ResourceMemory,
				Usage: model.MemoryAmountFromBytes(mebis * mebi)})
		}
		for _, p := range pods[:replicas] {
			if !killed(minute) {
				break
			}
			if err := p.RecordOOM(at, request[model.ResourceMemory]); err != nil {
				panic(err)
			}
		}
		if (minute+1)%(24*60) == 0 {
			r := logic.CreatePodResourceRecommender(defaults).GetRecommendedPodResources(model.ContainerNameToAggregateStateMap{"app": state})["app"]
			fmt.Printf("%d,%d,%d,%d,%d\n", (minute+1)/(24*60), r.Target[model.ResourceCPU], r.UpperBound[model.ResourceCPU],
				r.Target[model.ResourceMemory]/mebi, r.UpperBound[model.ResourceMemory]/mebi)
		}
	}
}

// used returns the usage of each pod in a minute, and the number of pods. The test has the same function.
func used(minute int) (replicas int, milli, mebis float64) {
	day, hour := minute/(24*60), minute/60%24
	replicas, milli, mebis = 2, 100+float64(hour), 300
	if hour == 12 {
		milli = 900 // for an hour of the day
	}
	if day >= 6 && hour >= 9 && hour < 15 {
		replicas, milli = 10, 500 // more pods count for more
	}
	if day == 2 {
		mebis = 700 // a day that is forgotten
	}
	return replicas, milli, mebis
}

// killed reports whether all pods were killed for lack of memory.
func killed(minute int) bool { return minute == 9*24*60+600 }
