package migrate

import (
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
)

// slot has the bounds of one hour of the week. Zero means no bound.
type slot struct{ min, max int64 }

type slots [7][24]slot

// slotsOf parses the recommendations of a Tortoise, by time zone.
func slotsOf(horizontal rawjson.Value) (map[string]*slots, []string) {
	byZone := map[string]*slots{}
	var zones []string
	read := func(list rawjson.Value, set func(*slot, int64)) {
		for _, r := range list.Array() {
			z := Zone(r.Get("timezone").Str)
			if byZone[z] == nil {
				byZone[z] = &slots{}
				zones = append(zones, z)
			}
			for d := range Days {
				if name := r.Get("weekday").Str; name != "" && !strings.HasPrefix(name, string(Days[d])) {
					continue
				}
				for h := r.Get("from").Int(); h < min(r.Get("to").Int(), 24); h++ {
					set(&byZone[z][d][h], r.Get("value").Int())
				}
			}
		}
	}
	read(horizontal.Get("minReplicas"), func(s *slot, n int64) { s.min = n })
	read(horizontal.Get("maxReplicas"), func(s *slot, n int64) { s.max = n })
	slices.Sort(zones)
	return byZone, zones
}

// joined returns the triggers of a week. It joins neighbouring hours with equal bounds, and equal days. If there are
// still too many for a Trigger, it joins several hours to one, with the largest minimum and the largest maximum among
// them. The result hours is the number of joined hours.
func joined(s *slots) (triggers []v1alpha1.TimeTrigger, hours int) {
	for _, hours = range []int{1, 2, 3, 4, 6, 8, 12, 24} {
		if triggers = s.triggers(hours); len(triggers) <= MaxWindows {
			break
		}
	}
	return triggers, hours
}

func (s *slots) triggers(hours int) []v1alpha1.TimeTrigger {
	var all []v1alpha1.TimeTrigger
	for d := range s {
		for from := 0; from < 24; {
			at := s.largest(d, from, hours)
			to := from + hours
			for to < 24 && s.largest(d, to, hours) == at {
				to += hours
			}
			if at != (slot{}) {
				all = addSlot(all, Days[d], from, to, at)
			}
			from = to
		}
	}
	for i := range all {
		all[i].Window.Days = UnlessAll(all[i].Window.Days)
	}
	return all
}

func (s *slots) largest(day, from, hours int) slot {
	var l slot
	for h := from; h < from+hours; h++ {
		l.min, l.max = max(l.min, s[day][h].min), max(l.max, s[day][h].max)
	}
	return l
}

// addSlot adds hours of a day. If a trigger has the same hours and bounds, it adds the day to this trigger.
func addSlot(all []v1alpha1.TimeTrigger, day v1alpha1.Day, from, to int, at slot) []v1alpha1.TimeTrigger {
	t := v1alpha1.TimeTrigger{Window: v1alpha1.Window{Days: []v1alpha1.Day{day}, From: fmt.Sprintf("%02d:00", from),
		To: fmt.Sprintf("%02d:00", to)}}
	same := func(n *int64, value int64) bool { return n == nil && value == 0 || n != nil && *n == value }
	for i := range all {
		o := &all[i]
		if o.Window.From == t.Window.From && o.Window.To == t.Window.To && same(o.During.Min, at.min) && same(o.During.Max, at.max) {
			o.Window.Days = append(o.Window.Days, day)
			return all
		}
	}
	t.Name = fmt.Sprintf("%s-%02d-%02d", strings.ToLower(string(day)), from, to)
	if at.min > 0 {
		t.During.Min = new(at.min)
	}
	if at.max > 0 {
		t.During.Max = new(at.max)
	}
	return append(all, t)
}
