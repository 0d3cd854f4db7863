package tortoise

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// refused is a roll-out that did not become ready and was taken back.
type refused struct {
	At time.Time
	// Tried are the requests of the roll-out. Back are the requests that replaced them.
	Tried, Back map[string]tune.Requests
	Why         string
}

// mostRefused is the maximum number of roll-outs that are remembered after they were taken back. More than one in each
// direction is rare, because a refused request becomes a bound.
const mostRefused = 8

// takeBack acts if the roll-out of the last requests does not become ready. It returns to the last requests that all pods
// had. If these are unknown or were refused too, it returns to the owner's requests. It reports whether it takes the
// roll-out back.
func (m *learner) takeBack(seen policy.Seen) bool {
	if m.Off {
		return false
	}
	if seen.Pods.Settled && m.haveAll(seen) {
		m.Proven = maps.Clone(m.Setting.Requests)
	}
	if seen.Pods.Stuck == "" || maps.Equal(m.Setting.Requests, m.Own) || m.Proven != nil && maps.Equal(m.Setting.Requests, m.Proven) &&
		!m.isBack() {
		return false
	}
	back := m.Proven
	if back == nil || m.isBack() {
		back = m.Own
	}
	m.Refused = append(m.Refused, refused{At: seen.Now, Tried: m.Setting.Requests, Back: maps.Clone(back), Why: seen.Pods.Stuck})
	m.Refused = m.Refused[max(len(m.Refused)-mostRefused, 0):]
	m.Setting.Requests = maps.Clone(back)
	m.edited = true // as after an edit by the owner, a cooldown begins
	return true
}

// haveAll reports whether all pods have the last recommended requests.
func (m *learner) haveAll(seen policy.Seen) bool {
	for name, set := range m.Setting.Requests {
		want := workload.Requests{MilliCPU: set.CPU, MemoryBytes: set.Memory}
		if least, known := seen.Least[name]; known && (least != want || seen.Largest[name] != want) {
			return false
		}
	}
	return len(seen.Least) > 0
}

// isBack reports whether the requests are the requests to which the last roll-out was taken back.
func (m *learner) isBack() bool {
	n := len(m.Refused)
	return n > 0 && maps.Equal(m.Refused[n-1].Back, m.Setting.Requests)
}

// narrowed narrows the bounds of requests by limits that stay the same, and by roll-outs that were taken back. So no
// refused request is tried again.
func (m *learner) narrowed(name string, l tune.Limits) tune.Limits {
	for _, of := range []struct {
		amount           func(tune.Requests) int64
		low, high, floor *int64
	}{
		{func(r tune.Requests) int64 { return r.CPU }, &l.Min.CPU, &l.Max.CPU, &l.Floor.CPU},
		{func(r tune.Requests) int64 { return r.Memory }, &l.Min.Memory, &l.Max.Memory, &l.Floor.Memory},
	} {
		if limit := of.amount(m.Limited[name]); m.rules.limits == workload.LimitsStay && limit > 0 {
			*of.high = min(*of.high, limit)
		}
		for _, r := range m.Refused {
			switch tried, back := of.amount(r.Tried[name]), of.amount(r.Back[name]); {
			case tried < back:
				*of.low = max(*of.low, back)
			case tried > back:
				*of.high = min(*of.high, back)
			}
		}
		*of.low, *of.floor = min(*of.low, *of.high), min(*of.floor, *of.high)
	}
	return l
}

// takenBack returns the last roll-out that was taken back, or nil.
func (m *learner) takenBack() *v1alpha1.TakenBack {
	n := len(m.Refused)
	if n == 0 {
		return nil
	}
	last := m.Refused[n-1]
	t := &v1alpha1.TakenBack{Time: metav1.Time{Time: last.At.Truncate(time.Second)}, Message: last.Why}
	for _, name := range slices.Sorted(maps.Keys(last.Tried)) {
		c := v1alpha1.NewContainer{Name: name}
		if tried := last.Tried[name]; tried.CPU != last.Back[name].CPU {
			q := milli(tried.CPU)
			c.CPU = &q
		}
		if tried := last.Tried[name]; tried.Memory != last.Back[name].Memory {
			q := inBytes(tried.Memory)
			c.Memory = &q
		}
		if c.CPU != nil || c.Memory != nil {
			t.Containers = append(t.Containers, c)
		}
	}
	return t
}

// takenBackText describes the last roll-out that was taken back and the condition for another try. It is empty if there is
// none.
func (m *learner) takenBackText() string {
	t := m.takenBack()
	if t == nil {
		return ""
	}
	var parts []string
	for _, c := range t.Containers {
		if c.CPU != nil {
			parts = append(parts, fmt.Sprintf("%s cpu %s", c.Name, c.CPU.String()))
		}
		if c.Memory != nil {
			parts = append(parts, fmt.Sprintf("%s memory %s", c.Name, c.Memory.String()))
		}
	}
	return fmt.Sprintf("the roll-out of %s did not become ready and was taken back at %s: %s. Requests do not go there again until the "+
		"spec of the policy changes, or what the owner requests",
		strings.Join(parts, ", "), t.Time.UTC().Format(time.RFC3339), t.Message)
}
