package members

import (
	"encoding/binary"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/workload"
)

// containers gives the containers of a pod, and those of its init containers that run beside them, as elements: the name, and the rest packed.
func (p pods) containers(values []gjson.Result) []workload.Element {
	var all []workload.Element
	add := func(c gjson.Result, statuses gjson.Result) {
		name := c.Get("name").Str
		var limit int64
		if q, err := resource.ParseQuantity(c.Get("resources.limits.memory").String()); err == nil {
			limit = q.Value()
		}
		restarts, killed := int64(0), int64(0)
		statuses.ForEach(func(_, s gjson.Result) bool {
			if s.Get("name").Str != name {
				return true
			}
			restarts = s.Get("restartCount").Int()
			for _, state := range []string{"lastState", "state"} {
				if end := s.Get(state + ".terminated"); end.Get("reason").Str == "OOMKilled" {
					killed = max(killed, instant(end.Get("finishedAt")))
				}
			}
			return false
		})
		packed := string(binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(nil, limit), restarts), killed))
		if restarts == 0 && killed == 0 {
			packed = p.interner.String(packed) // most pods of a target have the same
		}
		all = append(all, workload.Element{Name: p.interner.String(name), Field: workload.Field{Raw: packed}})
	}
	values[atContainers].ForEach(func(_, c gjson.Result) bool { add(c, values[atStatuses]); return true })
	values[atInitContainers].ForEach(func(_, c gjson.Result) bool {
		if c.Get("restartPolicy").Str == "Always" {
			add(c, values[atInitStatuses])
		}
		return true
	})
	return all
}

func unpackContainers(elements []workload.Element) []fleet.Container {
	if len(elements) == 0 {
		return nil
	}
	all := make([]fleet.Container, len(elements))
	for i, e := range elements {
		all[i].Name = e.Name
		b := []byte(e.Raw)
		for _, to := range []*int64{&all[i].MemoryLimit, &all[i].Restarts, &all[i].KilledAt} {
			v, n := binary.Varint(b)
			*to, b = v, b[max(n, 0):]
		}
	}
	return all
}
