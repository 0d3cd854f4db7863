package tortoise

import (
	"fmt"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// narrowed is what is left of limits where the limits of its owner stay: no request is above them.
func (m *mind) narrowed(name string, l tune.Limits) tune.Limits {
	if m.rules.limits == workload.LimitsStay {
		for _, of := range []struct {
			limit            int64
			low, high, least *int64
		}{
			{m.limited[name].CPU, &l.Min.CPU, &l.Max.CPU, &l.Floor.CPU}, {m.limited[name].Memory, &l.Min.Memory, &l.Max.Memory, &l.Floor.Memory},
		} {
			if of.limit > 0 && of.limit < *of.high {
				*of.high, *of.low, *of.least = of.limit, min(*of.low, of.limit), min(*of.least, of.limit)
			}
		}
	}
	return l
}

// limitText says what becomes of the limit beside a request that is tuned; empty: it has none.
func (m *mind) limitText(name string, of workload.Resource) string {
	limit := m.limited[name].CPU
	text := milli(limit)
	if of == workload.Memory {
		limit = m.limited[name].Memory
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
