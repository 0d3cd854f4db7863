package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
)

var (
	smartAutoscaler = schema.GroupKind{Group: "autoscaling.sarabala.io", Kind: "SmartHorizontalPodAutoscaler"}
	smartDays       = map[string]v1alpha1.Day{"M": "Mon", "TU": "Tue", "W": "Wed", "TH": "Thu", "F": "Fri", "SAT": "Sat", "SUN": "Sun"}
)

func smartHPA() Tool {
	return Tool{Name: "smarthpa", Title: "SmartHPA", Reads: Namespaced(smartAutoscaler), Convert: convertSmartHPAs}
}

func convertSmartHPAs(in *Input, out *Output) {
	all := in.Of(smartAutoscaler)
	for _, s := range all {
		convertSmartHPA(s, out)
	}
	if len(all) > 0 {
		out.Step("hand over outside all windows, with minReplicas and maxReplicas of each HorizontalPodAutoscaler as in Git: SmartHPA " +
			"remembers nothing, so the bounds in the cluster count as its owner's")
		out.Step("stop its controller, apply the objects below, delete its objects")
	}
}

func convertSmartHPA(s Object, out *Output) {
	spec := s.Get("spec")
	name, ns := spec.Get("HPAObjectRef.name").Str, cmp.Or(spec.Get("HPAObjectRef.namespace").Str, s.Namespace())
	if name == "" {
		out.Leave(s,
			"it has no HPAObjectRef: HPASpecTemplate has no scaleTargetRef and never works there; write the HorizontalPodAutoscaler as "+
				"spec.template of a Trigger")
		return
	}
	if spec.Get("smartRecommendation.enabled").Bool() {
		out.Leave(s, "smartRecommendation has no counterpart")
	}
	triggers := lastOfEachName(spec.Get("triggers").Array())
	g := groupTriggers(s, triggers, out)
	if len(g.triggers) == 0 {
		out.Leave(s, "no trigger of it has a counterpart%s", strings.Join(append([]string{""}, g.dead...), "; "))
		return
	}
	rules := v1alpha1.TriggerRules{TimeZone: g.zone, Triggers: g.triggers}
	target := v1alpha1.TargetSelector{Kinds: Refs(Autoscaler), Names: []string{name}}
	e := out.Emit(&v1alpha1.Trigger{ObjectMeta: Meta(ns, s.Name()), Spec: v1alpha1.TriggerSpec{TriggerRules: rules, Target: target}},
		s)
	e.Notes = slices.Concat(g.notes, g.dead)
	if len(triggers) > 1 {
		e.Note("where windows of one priority meet, the last to start wins there, and the larger of each value here")
	}
}

// smartGroup has the triggers of one object. zone is the time zone of the first trigger. notes are the differences in
// meaning, and dead are the triggers that never have an effect.
type smartGroup struct {
	zone     string
	triggers []v1alpha1.TimeTrigger
	notes    []string
	dead     []string
}

func groupTriggers(s Object, triggers []rawjson.Value, out *Output) smartGroup {
	var g smartGroup
	for _, t := range triggers {
		if why := neverFires(t); why != "" {
			g.dead = append(g.dead, "trigger "+t.Get("name").Str+" is dropped: "+why)
			continue
		}
		trigger, more, why := smartTrigger(t)
		if why != "" {
			out.Leave(s, "trigger %q: %s", t.Get("name").Str, why)
			continue
		}
		z := t.Get("timezone").Str
		if _, err := time.LoadLocation(z); err != nil || z == "" || z == "Local" {
			if z != "" {
				g.notes = append(g.notes, "trigger "+t.Get("name").Str+": the zone "+z+" is not known, and counts as UTC there")
			}
			z = "UTC"
		}
		g.zone = cmp.Or(g.zone, z)
		trigger.Window = InZone([]v1alpha1.Window{trigger.Window}, z, g.zone)[0]
		g.triggers, g.notes = append(g.triggers, trigger), append(g.notes, more...)
	}
	return g
}

// lastOfEachName returns the triggers that the tool uses. If several triggers have the same name, only the last of them
// counts.
func lastOfEachName(all []rawjson.Value) []rawjson.Value {
	var kept []rawjson.Value
	for i, t := range all {
		if !slices.ContainsFunc(all[i+1:], func(o rawjson.Value) bool { return o.Get("name").Str == t.Get("name").Str }) {
			kept = append(kept, t)
		}
	}
	return kept
}

// neverFires returns the reason why a trigger never has an effect in the tool, or "".
func neverFires(t rawjson.Value) string {
	interval := t.Get("interval")
	days := strings.Split(interval.Get("recurring").Str, ",")
	known := slices.ContainsFunc(days, func(d string) bool { return smartDays[strings.TrimSpace(d)] != "" })
	from, _ := clockWithSeconds(t.Get("startTime").Str)
	to, _ := clockWithSeconds(t.Get("endTime").Str)
	switch {
	case interval.Get("recurring").Str == "" && interval.Get("startDate").Str == "":
		return "it has no interval, so it never fires there"
	case interval.Get("recurring").Str != "" && !known:
		return "interval.recurring is " + interval.Get("recurring").Str +
			", which has no day that is known (M, TU, W, TH, F, SAT, SUN): it never fires there"
	case from == to && from != "":
		return "it starts and ends at " + from
	}
	return ""
}

// smartTrigger converts one trigger. It returns notes about the differences in meaning, or the reason why the trigger
// has no counterpart.
func smartTrigger(t rawjson.Value) (v1alpha1.TimeTrigger, []string, string) {
	name := t.Get("name").Str
	out := v1alpha1.TimeTrigger{Name: name, Priority: int32(t.Get("priority").Int()), Suspend: t.Get("suspend").Bool()}
	var notes []string
	note := func(text string) { notes = append(notes, "trigger "+name+": "+text) }
	if name == "" {
		return out, nil, "it has no name"
	}
	window, why := smartWindow(t)
	if why != "" {
		return out, nil, why
	}
	out.Window = window
	if window.To <= window.From {
		note("it ends on the next day here; there the end falls on the wrong day")
	}
	during := smartValues(t.Get("startHPAConfig"))
	if during == nil {
		return out, nil, "startHPAConfig has neither minReplicas nor maxReplicas"
	}
	out.During, out.After = *during, smartValues(t.Get("endHPAConfig"))
	if out.After == nil {
		note("it has no endHPAConfig: there the peak stays, here the owner's values come back")
	}
	if t.Get("startHPAConfig.desiredReplicas").Exists() || t.Get("endHPAConfig.desiredReplicas").Exists() {
		note("desiredReplicas is dropped: it has no effect there")
	}
	return out, notes, ""
}

func smartWindow(t rawjson.Value) (v1alpha1.Window, string) {
	interval := t.Get("interval")
	var w v1alpha1.Window
	if interval.Get("recurring").Str == "" { // the trigger is open daily, from one date until the day before another date
		end, err := time.Parse(time.DateOnly, interval.Get("endDate").Str)
		if err != nil {
			return w, fmt.Sprintf("endDate %q is no date", interval.Get("endDate").Str)
		}
		w.ValidFrom, w.ValidUntil = interval.Get("startDate").Str, end.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	for _, text := range strings.Split(interval.Get("recurring").Str, ",") {
		if day, ok := smartDays[strings.TrimSpace(text)]; ok && !slices.Contains(w.Days, day) {
			w.Days = append(w.Days, day)
		}
	}
	w.Days = UnlessAll(w.Days)
	from, okFrom := clockWithSeconds(t.Get("startTime").Str)
	to, okTo := clockWithSeconds(t.Get("endTime").Str)
	if !okFrom || !okTo {
		return w, "startTime " + t.Get("startTime").Str + " and endTime " + t.Get("endTime").Str + " are no times"
	}
	w.From, w.To = from, to
	return w, ""
}

// clockWithSeconds parses HH:MM:SS and drops the seconds. It converts 23:59:59 to 24:00, the end of the day.
func clockWithSeconds(text string) (string, bool) {
	if text == "23:59:59" {
		return "24:00", true
	}
	t, err := time.Parse(time.TimeOnly, text)
	if err != nil {
		return "", false
	}
	return t.Format("15:04"), true
}

// smartValues returns the bounds that a trigger sets, or nil if it sets none.
func smartValues(config rawjson.Value) *v1alpha1.TriggerValues {
	var v v1alpha1.TriggerValues
	if n := config.Get("minReplicas"); n.Exists() {
		v.Min = new(n.Int())
	}
	if n := config.Get("maxReplicas"); n.Exists() {
		v.Max = new(n.Int())
	}
	if v.Min == nil && v.Max == nil {
		return nil
	}
	return &v
}
