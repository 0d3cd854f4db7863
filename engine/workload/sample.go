package workload

import "time"

// Sample is the usage of one container of a target at an instant, over all its pods that are ready and past their
// start.
type Sample struct {
	At        time.Time
	Container string
	// CPU is the mean usage of a pod in milli-CPU. Memory is the largest usage of a pod in bytes. Negative or NaN: unknown.
	CPU, Memory float64
	// Replicas is the number of ready pods. A sample without ready pods has no usage to learn.
	Replicas int
	// Throttled is the share of the CPU demand that was not served because of limits, from 0 to 1.
	Throttled float64
	// OOMKills is the number of kills since the last sample. MemoryLimit is the memory limit in bytes at which they
	// happened.
	OOMKills    int
	MemoryLimit float64
	// Starting is true if pods are younger than the time they need to settle. Their usage then says nothing about demand.
	Starting bool
}
