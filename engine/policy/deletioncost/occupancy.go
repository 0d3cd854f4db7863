package deletioncost

import (
	"math/bits"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// occupancy empties nearly idle nodes first, so they can be removed: pods on nodes with few pods are
// deleted first. Nodes with 1, 2 to 3, 4 to 7 pods and so on count as equal; otherwise every new or deleted
// pod would change the order.
func occupancy(p *workload.Pod, _ Params) int64 { return int64(bits.Len(uint(max(p.Node.Pods, 0)))) }

// lookAgain is the time after which the other pods on the nodes are counted again.
const lookAgain = time.Minute
