package doctor

import (
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// The checks of this file and of webhooks.go find obstacles that would otherwise be seen only in the first night or on
// the morning after.

// sleepers maps each target of schedules to its first schedule.
type sleepers map[workload.Ref]workload.Policy

func sleepersOf(memory *world.Memory) sleepers {
	all := sleepers{}
	memory.Policies(func(p *world.Policy) bool {
		if among(schedule.Kinds(), p) && !p.IsBroken() && !p.Deleting {
			memory.EachTarget(p, func(ref workload.Ref) {
				if decide.LeavesAlone(memory, &p.Policy, memory.Kind(ref.GroupKind), memory.Object(ref)) {
					return
				}
				if first, ok := all[ref]; !ok || p.ID.Compare(first) < 0 {
					all[ref] = p.ID
				}
			})
		}
		return true
	})
	return all
}

// refs returns the targets, sorted.
func (s sleepers) refs() []workload.Ref {
	all := make([]workload.Ref, 0, len(s))
	for ref := range s {
		all = append(all, ref)
	}
	slices.SortFunc(all, workload.Ref.Compare)
	return all
}

// firstNight adds the checks for the first night that need only the world.
func (c *Checkup) firstNight(w *source.World, memory *world.Memory) {
	c.autoscalers(w, memory)
	c.orders(w, memory)
}

// autoscalers reports the autoscalers of sleeping targets that cannot read their metrics.
func (c *Checkup) autoscalers(w *source.World, memory *world.Memory) {
	asleep := sleepersOf(memory)
	var findings []string
	for _, a := range w.Adapters {
		if len(a.Spec.Blind) == 0 {
			continue
		}
		compiled, errs := adapter.Compile(a.Name, adapter.Served(a), adapter.Keys{Amounts: true})
		if len(errs) > 0 {
			continue // the check of adapters reports this fault
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
			by, sleeps := asleep[governed]
			if !sleeps {
				by, sleeps = asleep[ref]
			}
			if sleeps {
				findings = append(findings, fmt.Sprintf("%s cannot read its metrics: after %s wakes %s, the restored count stays, whatever the load. "+
					"Mend the metrics first: kubectl describe names the error", ref, by, governed))
			}
		})
	}
	slices.Sort(findings)
	c.Add("autoscalers", "those of sleeping targets read their metrics", findings)
}

// orders reports waves that wait for objects of kinds without ready predicates in their adapter. It leaves out kinds
// without replicas, because there is nothing to wait for.
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
				findings = append(findings, fmt.Sprintf("%s waits for wave %s, and the adapter %s has no ready predicates: %s counts as ready as "+
					"soon as it is written. Add spec.ready to the adapter, or set waitFor: Written on the wave", p.ID, p.Order.Title(place), name,
					ref.GroupKind))
			}
		})
		return true
	})
	slices.Sort(findings)
	c.Add("orders", "every wave waits for kinds that say when they are ready", slices.Compact(findings))
}

func among(rows []policy.Row, p *world.Policy) bool {
	return slices.ContainsFunc(rows, func(k policy.Row) bool { return k.Name == p.Kind.Name })
}

// first returns the first sleeping target of an API group. Its name is empty if there is none.
func (s sleepers) first(group string) workload.Ref {
	all := s.refs()
	if i := slices.IndexFunc(all, func(ref workload.Ref) bool { return ref.Group == group }); i >= 0 {
		return all[i]
	}
	return workload.Ref{}
}

// disruption checks that no PodDisruptionBudget keeps nodes of a sleeping node pool. Nothing else of Flyball is held up by
// budgets, because scaling a workload down evicts no pod.
func (c *Checkup) disruption(memory *world.Memory, whole bool, list func() ([]policyv1.PodDisruptionBudget, error)) {
	const name = "disruption budgets"
	asleep := sleepersOf(memory)
	if machines := asleep.first("cluster.x-k8s.io"); machines.Name != "" {
		c.Skip(name+" of Cluster API", fmt.Sprintf("the nodes of %s belong to another cluster: run doctor there too", machines))
	}
	pool := asleep.first("karpenter.sh")
	switch {
	case pool.Name == "":
		c.Add(name, "scaling down evicts no pod, and no node pool sleeps", nil)
		return
	case !whole:
		c.Skip(name, fmt.Sprintf("pods of any namespace may run on the nodes of %s: -A reads all namespaces", pool))
		return
	}
	all, err := list()
	if err != nil {
		c.Skip(name, err.Error())
		return
	}
	c.Add(name, "none keeps a node of a sleeping pool", keepers(all, memory, asleep, pool))
}

// keepers returns texts about the budgets that allow no eviction and whose pods do not sleep.
func keepers(all []policyv1.PodDisruptionBudget, memory *world.Memory, asleep sleepers, pool workload.Ref) []string {
	var findings []string
	for i := range all {
		b := &all[i]
		if b.Status.DisruptionsAllowed > 0 || b.Status.ExpectedPods == 0 {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || len(asleep.behind(memory, b.Namespace, selector)) > 0 {
			continue
		}
		findings = append(findings, fmt.Sprintf("PodDisruptionBudget %s/%s allows no eviction now, and its pods do not sleep: a node that has "+
			"one of them stays when %s puts %s to sleep. Allow a disruption, put its pods to sleep before, or keep them on another pool",
			b.Namespace, b.Name, asleep[pool], pool))
	}
	slices.Sort(findings)
	return findings
}

// behind returns the sleeping targets of a namespace that have pods with the labels of a selector.
func (s sleepers) behind(memory *world.Memory, namespace string, selector labels.Selector) []workload.Ref {
	var found []workload.Ref
	for _, ref := range s.refs() {
		if set, ok := podLabelsOf(memory, ref); ok && ref.Namespace == namespace && selector.Matches(set) {
			found = append(found, ref)
		}
	}
	return found
}

// podLabelsOf returns the labels of the pods that an object makes in its namespace. It returns false if it makes none, or
// if its template is not found.
func podLabelsOf(memory *world.Memory, ref workload.Ref) (labels.Set, bool) {
	template := strings.TrimPrefix(string(memory.Kind(ref.GroupKind).Adapter.Pods().Template), ".")
	if ref.Namespace == "" || template == "" || strings.ContainsAny(template, "['") {
		return nil, false
	}
	set := labels.Set{}
	rawjson.GetBytes(memory.Raw(ref), template+".metadata.labels").ForEach(func(key, value rawjson.Value) bool {
		set[key.String()] = value.String()
		return true
	})
	return set, true
}

// few returns the first texts of a list, and the number of the remaining texts.
func few(texts []string) string {
	const shown = 3
	if len(texts) <= shown {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:shown], ", "), len(texts)-shown)
}
