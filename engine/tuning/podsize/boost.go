package podsize

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Boost is the boost of a pod: its end, and the requests of its containers afterwards, CPU in thousandths of a core. It
// is noted on the pod and so survives a restart of the manager.
type Boost struct {
	// Until is UntilReady, or a time since the pod's creation, such as 60s.
	Until string
	// After has the requests and limits for CPU, by container; a limit of zero means no limit.
	After map[string]workload.Resources
}

// String returns the boost in the form of the note on a pod: 60s main=500 proxy=100/200.
func (b Boost) String() string {
	parts := []string{b.Until}
	for _, name := range slices.Sorted(maps.Keys(b.After)) {
		to := b.After[name]
		text := name + "=" + strconv.FormatInt(to.CPU, 10)
		if to.CPULimit > 0 {
			text += "/" + strconv.FormatInt(to.CPULimit, 10)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// ParseBoost parses the note on a pod. It returns false if the text is not a boost.
func ParseBoost(text string) (b Boost, ok bool) {
	parts := strings.Fields(text)
	if len(parts) < 2 {
		return b, false
	}
	b = Boost{Until: parts[0], After: map[string]workload.Resources{}}
	if _, err := time.ParseDuration(b.Until); b.Until != workload.UntilReady && err != nil {
		return b, false
	}
	for _, part := range parts[1:] {
		name, amounts, _ := strings.Cut(part, "=")
		request, limit, _ := strings.Cut(amounts, "/")
		cpu, err := strconv.ParseInt(request, 10, 64)
		most, errLimit := strconv.ParseInt(cmp.Or(limit, "0"), 10, 64)
		if err != nil || errLimit != nil || cpu <= 0 || most < 0 || most > 0 && most < cpu {
			return b, false
		}
		b.After[name] = workload.Resources{CPU: cpu, CPULimit: most}
	}
	return b, true
}

// Boosted returns the present boost of a pod, or false. A pod has no boost any more once its requests were changed in
// place.
func Boosted(p *workload.Pod) (Boost, bool) {
	if p.Resize.Boost == "" || p.Resize.By != "" {
		return Boost{}, false
	}
	b, ok := ParseBoost(p.Resize.Boost)
	return b, ok && slices.ContainsFunc(p.Containers, func(c workload.Container) bool {
		to, boosted := b.After[c.Name]
		return boosted &&
			c.CPU > to.CPU
	})
}

// Ends returns the end of a pod's boost: now, or a later time. It returns zero if the end is not known yet, because the
// boost ends once the pod is ready, or once it runs.
func (b Boost) Ends(p *workload.Pod, now time.Time) time.Time {
	d, err := time.ParseDuration(b.Until)
	if err != nil {
		if p.Ready {
			return now
		}
		return time.Time{}
	}
	at := time.Unix(p.Created, 0).Add(d)
	switch {
	case now.Before(at):
		return at
	case p.Phase == workload.PodRunning:
		return now
	}
	return time.Time{}
}

// Usual returns the containers of a pod with their CPU after the start.
func Usual(p *workload.Pod) []workload.Container {
	b, boosted := Boosted(p)
	if !boosted {
		return p.Containers
	}
	all := slices.Clone(p.Containers)
	for i := range all {
		if to, ok := b.After[all[i].Name]; ok {
			all[i].CPU, all[i].CPULimit = to.CPU, to.CPULimit
		}
	}
	return all
}
