package tortoise

import (
	"fmt"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// limitsOf returns the bounds of a container's requests. For a request that is not tuned, both bounds are the owner's
// value. Otherwise other requests would wait for a change that is dropped.
func (m *learner) limitsOf(name string) tune.Limits {
	own, rule := m.Own[name], m.rules.of(name)
	l := rule.limits
	l.Floor = rule.given.Min
	if rule.cpu == v1alpha1.ScaleOff || m.others[request(name, workload.CPU)] != "" {
		l.Min.CPU, l.Max.CPU, l.Floor.CPU = own.CPU, own.CPU, 0
	}
	if rule.memory == "Off" || m.others[request(name, workload.Memory)] != "" {
		l.Min.Memory, l.Max.Memory, l.Floor.Memory = own.Memory, own.Memory, 0
	}
	return m.narrowed(name, l)
}

// limitText returns a text about the limit beside a tuned request; empty: the container has no such limit.
func (m *learner) limitText(name string, of workload.Resource) string {
	limit := m.Limited[name].CPU
	text := milli(limit)
	if of == workload.Memory {
		limit = m.Limited[name].Memory
		text = inBytes(limit)
	}
	if limit == 0 || !m.tunes(name, of) {
		return ""
	}
	switch m.rules.limits {
	case workload.LimitsStay:
		return fmt.Sprintf("; its limit stays %s (vertical.limits is Keep)", text.String())
	case workload.LimitsGo:
		return fmt.Sprintf("; its limit of %s is removed (vertical.limits is None)", text.String())
	}
	return fmt.Sprintf("; its limit of %s follows by the ratio (vertical.limits is Ratio)", text.String())
}
