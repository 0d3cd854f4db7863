package resize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

// subresource is the subresource of pods for changes of resources in place.
const subresource = "resize"

// writeAll writes as many changes as the budget permits. It returns the number of successful changes and of permanently
// refused changes, and records the refusals. The error is the first other failure.
func (l *Actuator) writeAll(ctx context.Context, ref workload.Ref, id workload.Policy, changes []podsize.ResizeChange) (done, refused int,
	err error) {
	_, err = pods.Each(l.base, ref, l.budget, l.watch.Now, changes, func(c podsize.ResizeChange) error {
		err := l.write(ctx, id, c)
		switch why := whyNever(err); {
		case err == nil:
			done++
		case !errors.Is(err, apply.ErrBehind) && why != "":
			refused++
			l.refuse(ref, c, why)
			return nil
		}
		return err
	})
	return done, refused, err
}

// write changes one pod in place, if it is unchanged since it was read.
func (l *Actuator) write(ctx context.Context, id workload.Policy, c podsize.ResizeChange) error {
	result, err := l.base.Write(ctx, c.Pod, &workload.Patch{Type: types.StrategicMergePatchType, Subresource: subresource, Body: patchOf(c)})
	l.metrics.wrote(id, string(result))
	if errors.Is(err, apply.ErrUndone) {
		return fmt.Errorf("change pod %s/%s in place: %w", c.Pod.Namespace, c.Pod.Name, err)
	}
	return err
}

// amounts are resources in the form of a pod's spec. An amount that is missing in a patch keeps its value.
type amounts struct {
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
}

type resources struct {
	Requests *amounts `json:"requests,omitempty"`
	Limits   *amounts `json:"limits,omitempty"`
}

type container struct {
	Name      string    `json:"name"`
	Resources resources `json:"resources"`
}

// patchOf returns the strategic merge patch of a change.
func patchOf(c podsize.ResizeChange) []byte {
	var body struct {
		Metadata struct {
			UID             string `json:"uid"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Spec struct {
			Containers     []container `json:"containers,omitempty"`
			InitContainers []container `json:"initContainers,omitempty"`
		} `json:"spec"`
	}
	body.Metadata.UID, body.Metadata.ResourceVersion = c.Pod.UID, c.Pod.Version
	for _, to := range c.Containers {
		next := container{Name: to.Name, Resources: resources{Requests: amountsOf(to.CPU, to.Memory),
			Limits: amountsOf(to.CPULimit, to.MemoryLimit)}}
		if to.Sidecar {
			body.Spec.InitContainers = append(body.Spec.InitContainers, next)
		} else {
			body.Spec.Containers = append(body.Spec.Containers, next)
		}
	}
	raw, _ := json.Marshal(body) // the body has only texts
	return raw
}

func amountsOf(cpu, memory int64) *amounts {
	if cpu == 0 && memory == 0 {
		return nil
	}
	a := &amounts{}
	if cpu > 0 {
		a.CPU = resource.NewMilliQuantity(cpu, resource.DecimalSI).String()
	}
	if memory > 0 {
		a.Memory = resource.NewQuantity(memory, resource.BinarySI).String()
	}
	return a
}
