package workload

import (
	"math"
	"math/bits"
)

// FitLimit returns the request and the limit of a container with a tuned request, from the owner's request and limit. A
// limit of zero means no limit. If limits stay, the request is never above the limit.
func FitLimit(rule LimitRule, request, ownRequest, ownLimit int64) (fits, limit int64) {
	switch {
	case ownLimit <= 0 || rule == LimitsGo:
		return request, 0
	case rule == LimitsStay:
		return min(request, ownLimit), ownLimit
	}
	return request, LimitFor(request, ownRequest, ownLimit)
}

// LimitFor returns the limit that keeps the owner's ratio to the request, rounded down: a LimitRange that bounds the
// ratio (maxLimitRequestRatio) and allows the owner's ratio allows this limit. The limit is never below the request. It
// equals the request only if the owner's limit equals the owner's request, so the pod keeps its class of service.
// Without an owner's request, the owner's limit stays, or is raised to the request.
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
