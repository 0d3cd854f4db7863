package tune

import (
	"fmt"
	"maps"
	"slices"
)

// recommended sizes memory, and the CPU that is not scaled by replicas, as a VerticalPodAutoscaler recommends. A request
// below the recommended range rises at once, and again after a part of the cooldown. A request above the recommended
// target falls in steps, with cooldowns. It does not fall while the VerticalPodAutoscaler is unsure.
func (t *Tuner) recommended(spec Spec, o Observed, to *Setting) {
	pace := t.pace(spec, o)
	for _, name := range slices.Sorted(maps.Keys(to.Requests)) {
		r, v, l := to.Requests[name], o.Vertical[name], spec.limits(name)
		before := r
		const mebi = 1 << 20
		sizes := []sized{{name + " memory", "MiB", mebi, &r.Memory, v.Target.Memory, v.Lower.Memory, v.Upper.Memory, l.Min.Memory, l.Max.Memory,
			l.Floor.Memory}}
		if name != spec.Scaled || spec.Fixed {
			sizes = append(sizes, sized{CPUReason(spec.Scaled, name), "m", 1, &r.CPU, v.Target.CPU, v.Lower.CPU, v.Upper.CPU, l.Min.CPU, l.Max.CPU,
				l.Floor.CPU})
		}
		for _, s := range sizes {
			t.follow(spec, v, s, pace)
		}
		t.change(to, name, before, r, o.Now)
	}
}

// sized is a request with the recommendation and the bounds for it.
type sized struct {
	of, unit             string
	units                int64
	request              *int64
	target, lower, upper int64
	least, most, floor   int64
}

// follow takes one step towards the recommendation and stores the reason.
func (t *Tuner) follow(spec Spec, v Vertical, s sized, p pace) {
	if s.target <= 0 {
		t.say(s.of, "it stays: no VerticalPodAutoscaler recommends anything for it")
		return
	}
	wanted := min(max(s.target, s.least), s.most)
	needed := *s.request < max(min(s.lower, wanted), s.floor)
	in := func(n int64) int64 { return (n + s.units - 1) / s.units }
	what := "VerticalPodAutoscaler " + v.By + " recommends"
	bound := Bounded(s.target, s.least, s.most, func(n int64) string { return fmt.Sprintf("%d %s", in(n), s.unit) })
	switch {
	case wanted < *s.request && v.Unsure:
		t.say(s.of, "it stays: %s %d %s, and says that it has seen too little", what, in(s.target), s.unit)
		return
	case wanted < *s.request && !p.fall:
		t.say(s.of, "%d %s, after the cooldown: %s it, from %d to %d%s", in(wanted), s.unit, what, in(s.lower), in(s.upper),
			p.waits(*s.request, wanted))
		return
	case wanted > *s.request && !needed:
		t.say(s.of, "it stays: %s %d %s, and leaves what is from %d to %d", what, in(s.target), s.unit, in(s.lower), in(s.upper))
		return
	case needed && !p.rise:
		t.say(s.of, "%d %s: %s it, from %d to %d%s", in(wanted), s.unit, what, in(s.lower), in(s.upper), again(spec))
		return
	}
	*s.request = p.step(spec, *s.request, wanted, needed)
	t.say(s.of, "%d %s: %s %d, from %d to %d%s", in(wanted), s.unit, what, in(s.target), in(s.lower), in(s.upper), bound)
}
