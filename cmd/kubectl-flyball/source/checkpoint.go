package source

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Checkpoint returns the checkpoint of an object from manifests, or nil if there is none.
func (f Files) Checkpoint(ref workload.Ref) (*v1alpha1.UsageCheckpoint, error) {
	m, err := f.Read()
	if err != nil {
		return nil, err
	}
	return checkpointOf(ref, m.Checkpoints), nil
}

// Checkpoint returns the checkpoint of an object from the cluster, or nil if there is none.
func (c Cluster) Checkpoint(ctx context.Context, ref workload.Ref) (*v1alpha1.UsageCheckpoint, error) {
	found, err := c.Objects(ctx, []schema.GroupKind{{Group: v1alpha1.GroupVersion.Group, Kind: "UsageCheckpoint"}}, ref.Namespace)
	if err != nil {
		return nil, err
	}
	var all []*v1alpha1.UsageCheckpoint
	for _, raw := range found {
		one := &v1alpha1.UsageCheckpoint{}
		if err := json.Unmarshal(raw, one); err != nil {
			return nil, fmt.Errorf("read a UsageCheckpoint of the namespace %s: %w", ref.Namespace, err)
		}
		all = append(all, one)
	}
	return checkpointOf(ref, all), nil
}

// checkpointOf returns the checkpoint that belongs to an object, or nil.
func checkpointOf(ref workload.Ref, all []*v1alpha1.UsageCheckpoint) *v1alpha1.UsageCheckpoint {
	for _, c := range all {
		if c.Namespace == ref.Namespace && c.Name == workload.CompanionName(ref) {
			return c
		}
	}
	return nil
}
