package workload

// Domain returns the value of a node label for a pod, empty if the node has no such label. It returns false for a pod
// without a node, or with an unknown node.
func (p *Pod) Domain(label string) (domain string, ok bool) {
	if p.Node == nil {
		return "", false
	}
	return p.Node.Labels[label], true
}

// Spread returns the difference between the domains with the most and the fewest pods after the given pods have gone.
// All domains of the label that had pods in the fleet count.
func (f *Fleet) Spread(label string, gone map[*Pod]bool) int {
	count := map[string]int{}
	for _, p := range f.Pods {
		domain, ok := p.Domain(label)
		if !ok {
			continue
		}
		if _, known := count[domain]; !known {
			count[domain] = 0
		}
		if !gone[p] {
			count[domain]++
		}
	}
	if len(count) == 0 {
		return 0
	}
	low, high := len(f.Pods), 0
	for _, n := range count {
		low, high = min(low, n), max(high, n)
	}
	return high - low
}

// ScaledDown returns the pods that go when the fleet is scaled down to n pods at an instant, if each group loses its
// share.
func (f *Fleet) ScaledDown(n int, now int64) map[*Pod]bool {
	gone := map[*Pod]bool{}
	left, total := len(f.Pods)-n, len(f.Pods)
	for _, group := range f.Groups() {
		if total == 0 {
			break
		}
		share := (left*len(group) + total/2) / total
		share = min(share, left, len(group))
		for _, p := range Victims(group, f.Pods, now)[:share] {
			gone[p] = true
		}
		left, total = left-share, total-len(group)
	}
	return gone
}
