package doctor

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// The checks of this file and of webhooks.go are for the first night and the morning after: obstacles that are seen only then. There is
// none for PodDisruptionBudgets, because scaling down evicts no pod.

// sleepers are the targets of schedules, each with the first of its schedules.
type sleepers map[workload.Ref]workload.Policy

func sleepersOf(memory *world.Memory) sleepers {
	all := sleepers{}
	memory.Policies(func(p *world.Policy) bool {
		if among(schedule.Kinds(), p) && !p.IsBroken() && !p.Deleting {
			memory.EachTarget(p, func(ref workload.Ref) {
				if first, ok := all[ref]; !ok || p.ID.Compare(first) < 0 {
					all[ref] = p.ID
				}
			})
		}
		return true
	})
	return all
}

// refs returns the targets in order.
func (s sleepers) refs() []workload.Ref {
	all := make([]workload.Ref, 0, len(s))
	for ref := range s {
		all = append(all, ref)
	}
	slices.SortFunc(all, workload.Ref.Compare)
	return all
}

// firstNight checks what a world tells about the first night.
func (c *Checkup) firstNight(w *source.World, memory *world.Memory) {
	c.autoscalers(w, memory)
	c.orders(w, memory)
}

// autoscalers reports the autoscalers of sleeping targets that cannot read their metrics.
func (c *Checkup) autoscalers(w *source.World, memory *world.Memory) {
	asleep := sleepersOf(memory)
	var findings []string
	for _, a := range w.Adapters {
		compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{Amounts: true})
		if len(a.Spec.Blind) == 0 || len(errs) > 0 {
			continue
		}
		memory.EachObject(func(ref workload.Ref) {
			if ref.GroupKind != compiled.GroupKind() {
				return
			}
			obj, err := compiled.Project(memory.Raw(ref))
			if err != nil || !compiled.Observe(obj).Blind {
				return
			}
			governed, ok := compiled.Governs(obj)
			if !ok {
				return
			}
			governed = memory.Referent(governed)
			_, itself := asleep[ref]
			if by, ok := asleep[governed]; ok || itself {
				if !ok {
					by = asleep[ref]
				}
				findings = append(findings, fmt.Sprintf("%s cannot read its metrics: after %s wakes %s, the restored count stays, whatever the load. "+
					"Mend the metrics first: kubectl describe names the error", ref, by, governed))
			}
		})
	}
	slices.Sort(findings)
	c.Add("autoscalers", "those of sleeping targets read their metrics", findings)
}

// orders reports waves that wait for objects of kinds without ready predicates. A kind without replicas has nothing to wait for.
func (c *Checkup) orders(w *source.World, memory *world.Memory) {
	unready := map[schema.GroupKind]string{}
	for _, a := range w.Adapters {
		if len(a.Spec.Ready) == 0 && len(a.Spec.Scale) > 0 {
			unready[schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}] = a.Name
		}
	}
	var findings []string
	memory.Policies(func(p *world.Policy) bool {
		if p.Order == nil || p.IsBroken() || p.Deleting {
			return true
		}
		memory.EachTarget(p, func(ref workload.Ref) {
			name := unready[ref.GroupKind]
			if name == "" {
				return
			}
			if place := p.Order.Place(ref.GroupKind, memory.Object(ref)); p.Order.Waves[place].Ready {
				findings = append(findings, fmt.Sprintf("%s waits for wave %s, and the adapter %s has no ready predicates: %s counts as ready as soon as "+
					"it is written. Add spec.ready to the adapter, or set waitFor: Written on the wave", p.ID, p.Order.Title(place), name, ref.GroupKind))
			}
		})
		return true
	})
	slices.Sort(findings)
	c.Add("orders", "every wave waits for kinds that say when they are ready", slices.Compact(findings))
}

func among(rows []policy.Kind, p *world.Policy) bool {
	return slices.ContainsFunc(rows, func(k policy.Kind) bool { return k.Name == p.Kind.Name })
}

// few returns the first texts, and the number of the others.
func few(texts []string) string {
	const shown = 3
	if len(texts) <= shown {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:shown], ", "), len(texts)-shown)
}
