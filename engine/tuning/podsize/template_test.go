package podsize_test

import (
	"strings"
	"testing"

	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

// main is a container of a template. CPU is in milli-CPU and memory in Mi; a limit of 0 means no limit.
func main(cpu, cpuLimit, memory, memoryLimit int64) workload.Allocations {
	return workload.Allocations{{
		Component: "main", Requests: workload.Requests{MilliCPU: cpu, MemoryBytes: memory * mebi},
		Limits: workload.Requests{MilliCPU: cpuLimit, MemoryBytes: memoryLimit * mebi},
	}}
}

// running are pods that request 100m and 64Mi, limited to 1000m and 1024Mi, with an injected proxy that requests 50m
// and 32Mi.
func running(count int) (pods []*workload.Pod) {
	for range count {
		pods = append(pods, &workload.Pod{Containers: []workload.Container{
			{Name: "main", Resources: workload.Resources{CPU: 100, CPULimit: 1000, Memory: 64 * mebi, MemoryLimit: 1024 * mebi}},
			{Name: "proxy", Resources: workload.Resources{CPU: 50, CPULimit: 50, Memory: 32 * mebi, MemoryLimit: 32 * mebi}, Sidecar: true},
		}})
	}
	return pods
}

func TestRangesAndQuotasBoundTemplates(t *testing.T) {
	const none = `{}`
	twice := main(200, 2000, 128, 2048) // the recommendation: limits follow requests
	for _, test := range []struct {
		reason, kind, limits, quota string
		to                          workload.Allocations
		pods                        int
		why                         string
	}{
		{"nothing bounds it", "Container", `"min":{}`, none, twice, 4, ""},
		{"requests within the maximum, and a limit that follows by its ratio of 16 above it", "Container", `"max":{"memory":"1Gi"}`, none, twice,
			4,
			"container main: 128Mi of memory, limited to 2Gi, above the 1Gi of LimitRange bounds"},
		{"up to the maximum", "Container", `"max":{"memory":"2Gi","cpu":"2"}`, none, twice, 4, ""},
		{"less than the minimum", "Container", `"min":{"cpu":"50m"}`, none, main(49, 490, 64, 1024), 4,
			"container main: 49m of cpu, below the 50m of LimitRange bounds"},
		{"the ratio that is allowed", "Container", `"maxLimitRequestRatio":{"memory":"16"}`, none, twice, 4, ""},
		{"more than the ratio that is allowed", "Container", `"maxLimitRequestRatio":{"memory":"15"}`, none, twice, 4,
			"container main: 128Mi of memory, limited to 2Gi, more than 15 times that, which LimitRange bounds allows"},
		{"a pod within its maximum", "Pod", `"max":{"memory":"2080Mi"}`, none, twice, 4, ""},
		{"a pod above its maximum with what is injected", "Pod", `"max":{"memory":"2079Mi"}`, none, twice, 4,
			"160Mi of memory, limited to 2080Mi, above the 2079Mi of LimitRange bounds"},
		{"a pod above its maximum, of a target that sleeps", "Pod", `"max":{"memory":"2047Mi"}`, none, twice, 0,
			"128Mi of memory, limited to 2Gi, above the 2047Mi of LimitRange bounds"},
		{"an injected container that is refused now", "Container", `"min":{"memory":"33Mi"}`, none, twice, 4,
			"container proxy: 32Mi of memory, below the 33Mi of LimitRange bounds"},
		{"a limit that the namespace gives, and that does not follow", "Container", `"default":{"memory":"100Mi"}`, none, main(200, 0, 128, 0), 4,
			"container main: 128Mi of memory, above the limit of 100Mi that LimitRange bounds gives it"},
		{"a limit that the namespace gives, and that is enough", "Container", `"default":{"memory":"128Mi"},"max":{"memory":"128Mi"}`, none,
			main(200, 0, 128, 0), 4, ""},
		{"a request that the namespace gives", "Container", `"defaultRequest":{"cpu":"40m"},"min":{"cpu":"41m"}`, none, main(0, 0, 128, 128), 4,
			"container main: 40m of cpu, below the 41m"},
		{"a request that the limit gives", "Container", `"defaultRequest":{"cpu":"40m"},"min":{"cpu":"41m"}`, none, main(0, 50, 128, 128), 4, ""},
		{"a quota for what all pods need more", "Container", `"min":{}`, `{"status":{"hard":{"requests.memory":"256Mi"}}}`, twice, 4, ""},
		{"less than that", "Container", `"min":{}`, `{"status":{"hard":{"requests.memory":"255Mi"}}}`, twice, 4,
			"ResourceQuota share has 255Mi of requests.memory left, and 256Mi more would be needed for 4 pods"},
		{"limits that need more", "Container", `"min":{}`, `{"status":{"hard":{"limits.cpu":"900m"}}}`, twice, 1,
			"ResourceQuota share has 900m of limits.cpu left, and 1 more would be needed for 1 pod"},
		{"a quota that is used up, and less is asked for", "Container", `"min":{}`,
			`{"status":{"hard":{"memory":"1Gi","cpu":"1"},"used":{"memory":"2Gi","cpu":"2"}}}`, main(99, 990, 63, 1008), 4, ""},
		{"a quota that is used up, and as much is asked for", "Container", `"min":{}`,
			`{"status":{"hard":{"memory":"1Gi"},"used":{"memory":"2Gi"}}}`, main(99, 990, 64, 1024), 4, ""},
		{"a quota that is used up, and no pods that need more", "Container", `"min":{}`, `{"status":{"hard":{"memory":"0"}}}`, twice, 0, ""},
	} {
		if why := in(t, test.kind, test.limits, test.quota).RefusesTemplate(test.to, running(test.pods)); test.why == "" && why != "" ||
			!strings.Contains(why, test.why) {
			t.Errorf("%s: %q, want %q", test.reason, why, test.why)
		}
	}
	if why := (podsize.Room{}).RefusesTemplate(twice, nil); why != "" {
		t.Errorf("without bounds: %q", why)
	}
}
