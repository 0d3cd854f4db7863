package measure

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/types"
)

// atOnce is the largest number of namespaces in one query.
const atOnce = 100

// Read returns the usage of the pods of some namespaces at an instant, like the metrics API. A refused query is an error.
func (s *Prometheus) Read(ctx context.Context, namespaces []string, at time.Time) (map[types.NamespacedName]Pod, error) {
	pods := map[types.NamespacedName]Pod{}
	for some := range slices.Chunk(namespaces, atOnce) {
		if err := s.read(ctx, strings.Join(some, "|"), at, pods); err != nil {
			return nil, err
		}
	}
	return pods, nil
}

func (s *Prometheus) read(ctx context.Context, namespaces string, at time.Time, pods map[types.NamespacedName]Pod) error {
	used := map[types.NamespacedName]map[string]*Container{}
	for _, name := range []string{NowCPU, NowMemory, NowTime} {
		found, err := s.instant(ctx, name, namespaces, at)
		if err != nil {
			return err
		}
		for _, v := range found {
			pod := types.NamespacedName{Namespace: string(v.Metric["namespace"]), Name: string(v.Metric["pod"])}
			if name == NowTime {
				if p, known := pods[pod]; known {
					p.Stamp = strconv.FormatFloat(float64(v.Value), 'f', -1, 64)
					pods[pod] = p
				}
				continue
			}
			put(used, pod, name, v)
		}
		if name == NowMemory {
			collect(used, pods, at)
		}
	}
	return nil
}

// instant sends one query for an instant.
func (s *Prometheus) instant(ctx context.Context, name, namespaces string, at time.Time) (model.Vector, error) {
	query := strings.ReplaceAll(s.query(name), namespacesPlaceholder, namespaces)
	found, _, err := s.Now(ctx, query, at)
	if err != nil {
		return nil, s.Failed(name, query, err)
	}
	return found, nil
}

// put stores a value of a container. A value that is no number is unknown.
func put(used map[types.NamespacedName]map[string]*Container, pod types.NamespacedName, name string, v *model.Sample) {
	container := string(v.Metric[containerLabel])
	if n := float64(v.Value); pod.Name == "" || container == "" || !(n >= 0 && n < 1e15) {
		return
	}
	if used[pod] == nil {
		used[pod] = map[string]*Container{}
	}
	c := used[pod][container]
	if c == nil {
		c = &Container{Name: container, MilliCPU: -1, MemoryBytes: -1}
		used[pod][container] = c
	}
	if name == NowCPU {
		c.MilliCPU = float64(v.Value) * 1000
	} else {
		c.MemoryBytes = float64(v.Value)
	}
}

// collect joins containers to pods. If the time of the measurement is unknown, the queried instant is used.
func collect(used map[types.NamespacedName]map[string]*Container, pods map[types.NamespacedName]Pod, at time.Time) {
	for pod, containers := range used {
		p := Pod{Stamp: at.UTC().Format(time.RFC3339)}
		for _, c := range containers {
			p.Containers = append(p.Containers, *c)
		}
		slices.SortFunc(p.Containers, func(a, b Container) int { return strings.Compare(a.Name, b.Name) })
		pods[pod] = p
	}
}
