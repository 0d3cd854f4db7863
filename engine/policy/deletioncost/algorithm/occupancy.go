package algorithm

import (
	"math/bits"
	"time"

	"flyball.dev/flyball/engine/fleet"
)

// nodeOccupancy empties nearly idle nodes first, so that nodes can go: pods on nodes with few pods go first. Nodes count as alike
// while they have 1, 2 to 3, 4 to 7 pods and so on, for every pod that comes or goes anywhere would change the order else.
type nodeOccupancy struct{ byPod }

func occupancy(p *fleet.Pod, _ Params) int64 { return int64(bits.Len(uint(max(p.Node.Pods, 0)))) }

// lookAgain is after which time the pods of others on the nodes are counted again.
const lookAgain = time.Minute

func (nodeOccupancy) refresh(Params) time.Duration { return lookAgain }
