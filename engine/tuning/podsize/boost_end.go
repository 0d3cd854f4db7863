package podsize

import (
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// EndBoosts returns changes for pods with an expired boost: their CPU falls to the noted request. next is the time at
// which the next boost expires by time alone; zero: none does.
func EndBoosts(f *workload.Fleet, now time.Time, o ResizeOptions, refused Refusals) (changes []ResizeChange, next time.Time) {
	for _, pod := range f.Pods {
		b, boosted := Boosted(pod)
		if !boosted {
			continue
		}
		ends := b.Ends(pod, now)
		if ends.IsZero() {
			continue
		}
		if ends.After(now) {
			if next.IsZero() || ends.Before(next) {
				next = ends
			}
			continue
		}
		want := Sizes{}
		for _, c := range pod.Containers {
			if to, noted := b.After[c.Name]; noted && to.CPU < c.CPU && to.CPULimit <= c.CPULimit { // an edited note must not give the pod more CPU
				want[c.Name] = workload.Resources{CPU: to.CPU, CPULimit: to.CPULimit}
			}
		}
		if c := changeOf(pod, want); len(c.Containers) > 0 && c.impossible(o) == "" && refused.of(c) == "" && !c.Restarts {
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b ResizeChange) int { return strings.Compare(a.Pod.Name, b.Pod.Name) })
	return changes, next
}
