package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/recur"
)

func kedaCron() Tool {
	return Tool{Name: "keda-cron", Title: "KEDA cron triggers", Reads: Namespaced(ScaledObject, scaledJob),
		Convert: convertCrons}
}

var scaledJob = schema.GroupKind{Group: "keda.sh", Kind: "ScaledJob"}

// cronTrigger is one trigger of type cron with its active windows.
type cronTrigger struct {
	zone    string
	desired int64
	windows []v1alpha1.Window
}

func convertCrons(in *Input, out *Output) {
	before := len(out.Emitted)
	for _, s := range in.Of(schema.GroupKind{Group: "keda.k8s.io", Kind: "ScaledObject"}) {
		out.Leave(s, "its API is of KEDA 1: rewrite it for keda.sh/v1alpha1")
	}
	for _, s := range in.Of(scaledJob) {
		if i := slices.IndexFunc(s.Get("spec.triggers").Array(), isCronTrigger); i >= 0 {
			out.Leave(s, "triggers[%d]: a cron trigger of a ScaledJob starts Jobs again and again in its window, and no policy does that", i)
		}
	}
	for _, s := range in.Of(ScaledObject) {
		if triggers := s.Get("spec.triggers").Array(); !slices.ContainsFunc(triggers, isCronTrigger) {
			continue
		} else if why := inert(s); why != "" {
			out.Leave(s, "%s", why)
		} else {
			convertTriggers(s, triggers, out)
		}
	}
	if len(out.Emitted) > before {
		out.Step("apply the objects below, and then take the cron triggers out of the ScaledObjects (or the ScaledObjects away, where they " +
			"have no other trigger)")
	}
}

func isCronTrigger(t rawjson.Value) bool { return t.Get("type").Str == "cron" }

// convertTriggers converts a ScaledObject with cron triggers.
func convertTriggers(s Object, triggers []rawjson.Value, out *Output) {
	var crons []cronTrigger
	rest := false // triggers that are not converted
	for i, t := range triggers {
		if !isCronTrigger(t) {
			rest = true
			continue
		}
		c, why := readCron(t.Get("metadata"))
		if why != "" {
			out.Leave(s, "triggers[%d]: %s", i, why)
			rest = true
			continue
		}
		crons = append(crons, c)
	}
	switch {
	case len(crons) == 0:
	case !readable(s, out):
	case rest:
		emitCrons(s, ScaledObject, s.Name(), crons,
			func(n int64) v1alpha1.TriggerValues { return v1alpha1.TriggerValues{Min: new(floor(s, n))} }, out)
	default:
		convertCronOnly(s, crons, out)
	}
}

// inert returns the reason why the cron triggers of a ScaledObject have another effect than a minimum of replicas in
// their windows; empty: there is none. KEDA 8b4f083 takes each value of the boolean annotations for true that it cannot
// read as false (apis/keda/v1alpha1/scaledobject_types.go, getBoolAnnotation). With idleReplicaCount, only an active trigger
// brings the target from that count to minReplicaCount (pkg/scaling/executor/scale_scaledobjects.go).
func inert(s Object) string {
	annotations := s.Get("metadata.annotations").Map()
	if count, is := annotations["autoscaling.keda.sh/paused-replicas"]; is {
		return fmt.Sprintf("the annotation autoscaling.keda.sh/paused-replicas keeps it at %s, and its triggers do nothing: take "+
			"the annotation away first", count.Str)
	}
	for _, name := range []string{"paused", "paused-scale-in", "paused-scale-out"} {
		value, is := annotations["autoscaling.keda.sh/"+name]
		if on, err := strconv.ParseBool(value.Str); is && (on || err != nil) {
			return fmt.Sprintf("the annotation autoscaling.keda.sh/%s: %q stops its scaling: take the annotation away first", name, value.Str)
		}
	}
	if idle := s.Get("spec.idleReplicaCount"); idle.Exists() {
		return fmt.Sprintf("idleReplicaCount is %s: only an active trigger brings the target from there to minReplicaCount, and a policy is none",
			idle.String())
	}
	return ""
}

// floor returns the minimum of replicas in the windows of a cron trigger. It is at least the ScaledObject's minimum,
// and at most its maximum.
func floor(s Object, desired int64) int64 {
	most := int64(100) // the default of KEDA
	if n := s.Get("spec.maxReplicaCount"); n.Exists() {
		most = n.Int()
	}
	return min(max(desired, s.Get("spec.minReplicaCount").Int()), most)
}

// kedaCrons is KEDA's parser (8b4f083, pkg/scalers/cron_scaler.go). It knows no descriptors such as @daily, and no Sunday 7.
var kedaCrons = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// readCron reads a cron trigger. It returns the reason for a trigger that cannot be converted. KEDA refuses most such triggers,
// which then have no effect.
func readCron(m rawjson.Value) (cronTrigger, string) {
	start, end := strings.TrimSpace(m.Get("start").Str), strings.TrimSpace(m.Get("end").Str)
	c := cronTrigger{zone: m.Get("timezone").Str}
	var ok bool
	switch c.desired, ok = Count(m.Get("desiredReplicas").String()); {
	case !ok:
		return c, fmt.Sprintf("desiredReplicas is %q and no count", m.Get("desiredReplicas").String())
	case c.desired == 0:
		return c, "KEDA refuses it: desiredReplicas is 0"
	case c.zone == "":
		return c, "KEDA refuses it: it has no timezone"
	case start == end && start != "":
		return c, fmt.Sprintf("KEDA refuses it: start and end are both %q", start)
	}
	if _, err := timeline.LoadZone(c.zone); err != nil {
		return c, fmt.Sprintf("timezone is %q, which is no time zone", c.zone)
	}
	for _, name := range []string{"start", "end"} {
		text := strings.TrimSpace(m.Get(name).Str)
		if _, err := recur.ParseCron(text); err != nil {
			return c, fmt.Sprintf("%s is %q, which is no cron of minute, hour, day of the month, month and day of the week", name, text)
		}
		if _, err := kedaCrons.Parse(text); err != nil {
			return c, fmt.Sprintf("KEDA refuses it: %s is %q: %v", name, text, err)
		}
	}
	if c.windows, ok = Pair(start, end); ok {
		return c, ""
	}
	window := v1alpha1.Window{Cron: start, Until: end}
	if _, errs := timeline.ParseWindow(window, time.UTC, field.NewPath("trigger")); len(errs) > 0 {
		return c, fmt.Sprintf("it is never active: start is %q and end is %q", start, end)
	}
	c.windows = []v1alpha1.Window{window}
	return c, ""
}

// emitCrons adds a Trigger for the crons. The Trigger has the time zone of the first cron.
func emitCrons(s Object, kind schema.GroupKind, name string, crons []cronTrigger, values func(int64) v1alpha1.TriggerValues,
	out *Output) {
	t := &v1alpha1.Trigger{ObjectMeta: Meta(s.Namespace(), s.Name())}
	t.Spec.TimeZone, t.Spec.Overlap = crons[0].zone, v1alpha1.OverlapHighest
	t.Spec.Target = v1alpha1.TargetSelector{Kinds: Refs(kind), Names: []string{name}}
	for _, c := range crons {
		for _, w := range InZone(c.windows, c.zone, t.Spec.TimeZone) {
			w.Days = UnlessAll(w.Days)
			t.Spec.Triggers = append(t.Spec.Triggers, v1alpha1.TimeTrigger{Name: fmt.Sprintf("cron-%d", len(t.Spec.Triggers)+1), Window: w,
				During: values(c.desired)})
		}
	}
	out.Emit(t, s)
}

// readable reports whether the bounds of a ScaledObject are counts.
func readable(s Object, out *Output) bool {
	for _, name := range []string{"minReplicaCount", "maxReplicaCount"} {
		bound := s.Get("spec." + name)
		if _, ok := Count(bound.String()); bound.Exists() && !ok {
			out.Leave(s, "%s is %q and no count", name, bound.String())
			return false
		}
	}
	return true
}

// targetKind returns the kind of a scaleTargetRef. The defaults are those of KEDA 1a746d1 (pkg/util/gvkr.go).
func targetKind(ref rawjson.Value) schema.GroupKind {
	version, kind := cmp.Or(ref.Get("apiVersion").Str, "apps/v1"), cmp.Or(ref.Get("kind").Str, "Deployment")
	return Served(schema.FromAPIVersionAndKind(version, kind).GroupKind())
}

// convertCronOnly replaces a ScaledObject that has only cron triggers. The target of such a ScaledObject runs only in
// the windows, or has more replicas in them.
func convertCronOnly(s Object, crons []cronTrigger, out *Output) {
	ref := s.Get("spec.scaleTargetRef")
	kind, name := targetKind(ref), ref.Get("name").Str
	if name == "" {
		out.Leave(s, "scaleTargetRef has no name")
		return
	}
	for i := range crons {
		crons[i].desired = floor(s, crons[i].desired)
	}
	least := s.Get("spec.minReplicaCount").Int()
	if least > 0 {
		before := len(out.Emitted)
		emitCrons(s, kind, name, crons, func(n int64) v1alpha1.TriggerValues { return v1alpha1.TriggerValues{Replicas: new(max(n, least))} }, out)
		for _, e := range out.Emitted[before:] {
			e.Note("it has no other trigger: delete the ScaledObject and set the replicas of %s %s to %d, its minReplicaCount", kind.Kind, name,
				least)
		}
		return
	}
	if slices.ContainsFunc(crons, func(c cronTrigger) bool { return c.desired != crons[0].desired }) {
		// A Schedule always wakes to the same size, so a Trigger has to set the different sizes.
		emitCrons(s, kind, name, crons, func(n int64) v1alpha1.TriggerValues { return v1alpha1.TriggerValues{Replicas: new(n)} }, out)
	}
	rules := v1alpha1.ScheduleRules{TimeZone: crons[0].zone}
	for _, c := range crons {
		for _, w := range InZone(c.windows, c.zone, rules.TimeZone) {
			w.Days = UnlessAll(w.Days)
			rules.Awake = append(rules.Awake, w)
		}
	}
	target := v1alpha1.TargetSelector{Kinds: Refs(kind), Names: []string{name}}
	out.Emit(&v1alpha1.Schedule{ObjectMeta: Meta(s.Namespace(), s.Name()),
		Spec: v1alpha1.ScheduleSpec{Target: target, ScheduleRules: rules}}, s).
		Note("it has no other trigger, and minReplicaCount is 0: delete the ScaledObject and set the replicas of %s %s to %d, which it wakes to",
			kind.Kind, name, crons[0].desired).
		Note("to go to 0 waits for cooldownPeriod (300 s unless set) there, and not here")
}
