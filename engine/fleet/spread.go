package fleet

// Domain is the value that a node label has for a pod; empty where the node has no such label. ok is false for a pod that is on no
// node, or on one of which nothing is known.
func (p *Pod) Domain(label string) (domain string, ok bool) {
	if p.Node == nil {
		return "", false
	}
	return p.Node.Labels[label], true
}

// Spread is the difference between the domains with the most and the fewest pods, over all domains of a label that had pods in the
// fleet, after the pods given have gone.
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

// ScaledDown gives the pods that go when the fleet is scaled down to n pods at an instant, each group giving up its share.
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
