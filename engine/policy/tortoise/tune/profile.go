package tune

import "math"

// Profile sets the price of risk.
type Profile struct {
	Name string
	// Headroom is the share of the ready capacity that demand should not exceed.
	Headroom float64
	// Violation is the price of demand above the headroom. A share of time with such demand costs this share times Violation
	// times the cost of the owner's setting.
	Violation float64
	// Memory is the price of a GiB of memory in milli-CPU.
	Memory float64
	// MemoryQuantile is the quantile of usage for the memory request. MemoryMargin is the factor from this usage to the
	// request.
	MemoryQuantile, MemoryMargin float64
	// Share is the quantile of CPU usage for the containers besides the scaled one.
	Share float64
}

// Profiles by name.
var Profiles = map[string]Profile{
	"Lean":     {Name: "Lean", Headroom: 0.9, Violation: 2.5, Memory: 130, MemoryQuantile: 0.98, MemoryMargin: 1.1, Share: 0.9},
	"Balanced": {Name: "Balanced", Headroom: 0.85, Violation: 5, Memory: 130, MemoryQuantile: 0.99, MemoryMargin: 1.2, Share: 0.95},
	"Safe":     {Name: "Safe", Headroom: 0.75, Violation: 15, Memory: 130, MemoryQuantile: 1, MemoryMargin: 1.35, Share: 0.99},
}

// Bounds limit a choice.
type Bounds struct {
	// Min, Max and PreferredMax are numbers of replicas.
	Min, Max, PreferredMax int
	// Reach is the total request at the owner's maximum, in milli-CPU. The allowed maximum grows as the request shrinks, so
	// that this total stays within reach. Zero: the maximum is always Max.
	Reach int64
	// MinRequest and MaxRequest bound the request of the scaled container, in milli-CPU.
	MinRequest, MaxRequest int64
	// MaxBy is the origin of MaxRequest, in words.
	MaxBy string
	// MinUtilisation and MaxUtilisation bound the target utilisation, in percent.
	MinUtilisation, MaxUtilisation int
}

// mostReplicas is the largest maximum of an autoscaler.
const mostReplicas = math.MaxInt32

// MaxFor returns the largest number of replicas for a request.
func (b Bounds) MaxFor(request int64) int {
	request = max(request, 1)
	reach := min(b.Reach/request, mostReplicas-1)
	if reach*request < b.Reach {
		reach++
	}
	return max(b.Max, int(reach))
}
