package analysis

import (
	"encoding/base64"
	"fmt"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/tortoise"
)

// DemandKept returns the demand that a Tortoise has learnt and stored in a checkpoint.
func DemandKept(c *v1alpha1.UsageCheckpoint) ([]Reading, error) {
	data, err := base64.StdEncoding.DecodeString(c.Spec.Data)
	if err == nil {
		var all []Reading
		err = tortoise.EachDemand(data, func(d tortoise.Demand) { all = append(all, Reading{At: d.At, Cores: d.CPU / 1000}) })
		if err == nil {
			return all, nil
		}
	}
	return nil, fmt.Errorf("read the UsageCheckpoint %s/%s: %w", c.Namespace, c.Name, err)
}
