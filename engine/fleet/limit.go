package fleet

import (
	"math"
	"math/bits"
)

// LimitFor is the limit for a request that stands to it as the owner's limit stands to the owner's request, rounded up. Where the owner's
// request is nothing, the limit stays, or is the request if that is more.
func LimitFor(request, ownRequest, ownLimit int64) int64 {
	if ownRequest <= 0 {
		return max(request, ownLimit)
	}
	high, low := bits.Mul64(uint64(ownLimit), uint64(request))
	low, carry := bits.Add64(low, uint64(ownRequest)-1, 0) // so that the quotient is rounded up
	if high += carry; high >= uint64(ownRequest) {
		return math.MaxInt64 // the quotient has more than 64 bits
	}
	limit, _ := bits.Div64(high, low, uint64(ownRequest))
	return max(int64(min(limit, math.MaxInt64)), request)
}
