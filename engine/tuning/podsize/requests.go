package podsize

import (
	"flyball.dev/flyball/engine/workload"
)

// Requested returns the mean requests of the ready pods, in milli-CPU by container.
func Requested(f *workload.Fleet) map[string]int64 {
	sums, pods := map[string]int64{}, map[string]int64{}
	for _, p := range f.Pods {
		for _, c := range Usual(p) {
			if p.Ready && c.CPU > 0 {
				sums[c.Name] += c.CPU
				pods[c.Name]++
			}
		}
	}
	for name, n := range pods {
		sums[name] /= n
	}
	return sums
}

// Extremes returns the least and the largest requests of any pod, by container.
func Extremes(f *workload.Fleet) (least, most map[string]workload.Requests) {
	least, most = map[string]workload.Requests{}, map[string]workload.Requests{}
	for _, p := range f.Pods {
		for _, c := range Usual(p) {
			low, known := least[c.Name]
			if !known {
				low = workload.Requests{MilliCPU: c.CPU, MemoryBytes: c.Memory}
			}
			high := most[c.Name]
			least[c.Name] = workload.Requests{MilliCPU: min(low.MilliCPU, c.CPU), MemoryBytes: min(low.MemoryBytes, c.Memory)}
			most[c.Name] = workload.Requests{MilliCPU: max(high.MilliCPU, c.CPU), MemoryBytes: max(high.MemoryBytes, c.Memory)}
		}
	}
	return least, most
}
