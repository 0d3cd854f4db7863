package tortoise

import (
	"fmt"

	"flyball.dev/flyball/engine/workload"
)

// limitText says what becomes of the limit beside a request that is tuned; empty: it has none.
func (m *mind) limitText(name string, of workload.Resource) string {
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
