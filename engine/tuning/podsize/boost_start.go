package podsize

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// StartBoost is the additional CPU that a pod requests for its start.
type StartBoost struct {
	// Containers are the names of the containers with a boost.
	Containers []string
	// Tenths are the tenths of the factor by which the request grows. If zero, CPU is the boosted request, in
	// thousandths of a core.
	Tenths, CPU int64
	// Until is the end of the boost, in the form of Boost.
	Until string
	// Most is the largest total request of a boosted pod, in thousandths of a core; zero: no limit.
	Most int64
}

// StartBoostOf parses a boost of the API: 2x, 1.5x, 500m or 2. It returns nil if the text is not a boost.
func StartBoostOf(cpu, until string, containers []string) *StartBoost {
	b := &StartBoost{Containers: containers, Until: until}
	if factor, ok := strings.CutSuffix(cpu, "x"); ok {
		whole, tenth, _ := strings.Cut(factor, ".")
		n, err := strconv.ParseInt(whole+(tenth + "0")[:1], 10, 32)
		if err != nil || n <= 10 || len(tenth) > 1 {
			return nil
		}
		b.Tenths = n
		return b
	}
	q, ok := workload.ParseQuantity(cpu)
	if !ok || q.Sign() <= 0 || q.Cmp(most) > 0 {
		return nil
	}
	b.CPU = q.MilliValue()
	return b
}

// start is the boost of a pod.
type start struct {
	boost *StartBoost
	after map[string]workload.Resources
	// more is the additional request of the pod.
	more int64
}

// adds reports whether a container gets the boost. A container that a change in place would restart gets none, nor does
// a container that ends before the pod starts.
func (s *start) adds(name, list string, c podContainer) bool {
	if s.boost == nil || !slices.Contains(s.boost.Containers, name) || list == "initContainers" && c.restartPolicy.String() != "Always" {
		return false
	}
	restarts := false
	c.resizePolicy.ForEach(func(_, p rawjson.Value) bool {
		restarts = restarts || p.Get("resourceName").Str == "cpu" && p.Get("restartPolicy").Str == "RestartContainer"
		return true
	})
	return !restarts
}

// of returns the boosted resources of a container. Its limit keeps the ratio to the request, or stays above the
// request, so the pod keeps its class of service.
func (s *start) of(name string, usual workload.Resources, rule workload.LimitRule) workload.Resources {
	to := s.boost.CPU
	if s.boost.Tenths > 0 && usual.CPU <= math.MaxInt64/1000 {
		to = (usual.CPU*s.boost.Tenths + 9) / 10
	}
	if rule == workload.LimitsStay && usual.CPULimit > 0 {
		to = min(to, usual.CPULimit-1)
	}
	if usual.CPU <= 0 || to <= usual.CPU {
		return usual
	}
	full := usual
	full.CPU, full.CPULimit = workload.FitLimit(rule, to, usual.CPU, usual.CPULimit)
	if s.after == nil {
		s.after = map[string]workload.Resources{}
	}
	s.after[name] = workload.Resources{CPU: usual.CPU, CPULimit: usual.CPULimit}
	s.more += full.CPU - usual.CPU
	return full
}

// isTooMuch reports whether the boosted pod is too large for all nodes, or the note too long for its annotation.
func (s *start) isTooMuch(spec rawjson.Value) bool {
	if len(s.joinText()) > workload.LongestBoost {
		return true
	}
	if s.more == 0 || s.boost.Most == 0 {
		return false
	}
	sum := s.more
	for _, list := range []string{"containers", "initContainers"} {
		spec.Get(list).ForEach(func(_, value rawjson.Value) bool {
			c := readContainer(value)
			if after, boosted := s.after[c.name.String()]; boosted {
				sum += after.CPU
			} else if is, err := readResources(c.resources); err == nil && (list == "containers" || c.restartPolicy.String() == "Always") {
				sum += is.CPU
			}
			return true
		})
	}
	return sum > s.boost.Most
}

// joinText returns the note on the pod, or "" if the pod starts without a boost.
func (s *start) joinText() string {
	if len(s.after) == 0 {
		return ""
	}
	return Boost{Until: s.boost.Until, After: s.after}.String()
}
