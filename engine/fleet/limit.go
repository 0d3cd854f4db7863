package fleet

import (
	"math"
	"math/bits"

	"flyball.dev/flyball/engine/workload"
)

// Fit returns what a container is to request and to be limited to where its request is set and its owner has some request and limit; a limit of
// zero is none. Where limits stay, the request is never above the limit.
func Fit(rule workload.LimitRule, request, ownRequest, ownLimit int64) (fits, limit int64) {
	switch {
	case ownLimit <= 0 || rule == workload.LimitsGo:
		return request, 0
	case rule == workload.LimitsStay:
		return min(request, ownLimit), ownLimit
	}
	return request, LimitFor(request, ownRequest, ownLimit)
}

// LimitFor is the limit for a request that stands to it as the owner's limit stands to the owner's request, rounded down: a LimitRange that bounds
// the ratio (maxLimitRequestRatio) and allows the owner's allows this one. It is never below the request, and equals it only where the owner's
// limit does, so that the pod keeps its class of service. Where the owner's request is nothing, the limit stays, or is the request if that is more.
func LimitFor(request, ownRequest, ownLimit int64) int64 {
	if ownRequest <= 0 {
		return max(request, ownLimit)
	}
	least := request
	if ownLimit > ownRequest && request < math.MaxInt64 {
		least++
	}
	high, low := bits.Mul64(uint64(ownLimit), uint64(request))
	if high >= uint64(ownRequest) {
		return math.MaxInt64 // the quotient has more than 64 bits
	}
	limit, _ := bits.Div64(high, low, uint64(ownRequest))
	return max(int64(min(limit, math.MaxInt64)), least)
}
