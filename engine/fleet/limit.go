package fleet

import (
	"math"
	"math/bits"
)

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
