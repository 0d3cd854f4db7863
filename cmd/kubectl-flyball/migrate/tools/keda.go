package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/cmd/kubectl-flyball/migrate"
	"flyball.dev/flyball/cmd/kubectl-flyball/migrate/week"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/face"
)

func kedaCron() migrate.Tool {
	return migrate.Tool{Name: "keda-cron", Title: "KEDA cron triggers", Reads: migrate.Namespaced(migrate.ScaledObject), Convert: convertCrons}
}

// cronTrigger is one trigger of type cron with its active windows.
type cronTrigger struct {
	zone    string
	desired int64
	windows []v1alpha1.Window
}

func convertCrons(in *migrate.Input, out *migrate.Output) {
	found := false
	for _, s := range in.Of(schema.GroupKind{Group: "keda.k8s.io", Kind: "ScaledObject"}) {
		out.Leave(s, "its API is that of KEDA 1: rewrite it for keda.sh/v1alpha1")
	}
	for _, s := range in.Of(migrate.ScaledObject) {
		var crons []cronTrigger
		others, broken := 0, false
		for i, t := range s.Get("spec.triggers").Array() {
			if t.Get("type").Str != "cron" {
				others++
				continue
			}
			found = true
			c, why := readCron(t.Get("metadata"))
			if why != "" {
				out.Leave(s, "triggers[%d]: %s", i, why)
				broken = true
				continue
			}
			crons = append(crons, c)
		}
		switch {
		case len(crons) == 0:
		case !readable(s, out):
		case others > 0 || broken:
			emitCrons(s, migrate.ScaledObject, s.Name(), crons,
				func(n int64) v1alpha1.TriggerValues { return v1alpha1.TriggerValues{Min: new(floor(s, n))} }, out)
		default:
			convertCronOnly(s, crons, out)
		}
	}
	if found {
		out.Step("apply the objects below, and then take the cron triggers out of the ScaledObjects (or the ScaledObjects away, where they " +
			"have no other trigger)")
	}
}

// floor returns the minimum of replicas in the windows of a cron trigger. It is at least the ScaledObject's minimum,
// and at most its maximum.
func floor(s migrate.Object, desired int64) int64 {
	most := int64(100) // the default of KEDA
	if n := s.Get("spec.maxReplicaCount"); n.Exists() {
		most = n.Int()
	}
	return min(max(desired, s.Get("spec.minReplicaCount").Int()), most)
}

func readCron(m gjson.Result) (cronTrigger, string) {
	start, end := strings.TrimSpace(m.Get("start").Str), strings.TrimSpace(m.Get("end").Str)
	c := cronTrigger{zone: migrate.Zone(m.Get("timezone").Str)}
	var ok bool
	if c.desired, ok = migrate.Count(m.Get("desiredReplicas").String()); !ok {
		return c, fmt.Sprintf("desiredReplicas is %q and no count", m.Get("desiredReplicas").String())
	}
	if _, err := timeline.LoadZone(c.zone); err != nil {
		return c, fmt.Sprintf("timezone is %q, which is no time zone", c.zone)
	}
	for _, name := range []string{"start", "end"} {
		if cron := strings.TrimSpace(m.Get(name).Str); !isCron(cron) {
			return c, fmt.Sprintf("%s is %q, which is no cron of minute, hour, day of the month, month and day of the week", name, cron)
		}
	}
	if start == end {
		c.windows = []v1alpha1.Window{week.AllDay()}
		return c, ""
	}
	if c.windows, ok = week.Pair(start, end); ok {
		return c, ""
	}
	window := v1alpha1.Window{Cron: start, Until: end}
	if _, errs := timeline.ParseWindow(window, time.UTC, field.NewPath("trigger")); len(errs) > 0 {
		return c, fmt.Sprintf("it is never active: start is %q and end is %q", start, end)
	}
	c.windows = []v1alpha1.Window{window}
	return c, ""
}

func isCron(text string) bool {
	_, err := face.ParseCron(text)
	return err == nil
}

// emitCrons adds a Trigger for the crons. The Trigger has the time zone of the first cron.
func emitCrons(s migrate.Object, kind schema.GroupKind, name string, crons []cronTrigger, values func(int64) v1alpha1.TriggerValues,
	out *migrate.Output) {
	t := &v1alpha1.Trigger{ObjectMeta: migrate.Meta(s.Namespace(), s.Name())}
	t.Spec.TimeZone, t.Spec.Overlap = crons[0].zone, v1alpha1.OverlapHighest
	t.Spec.Target = v1alpha1.TargetSelector{Kinds: migrate.Refs(kind), Names: []string{name}}
	for _, c := range crons {
		for _, w := range week.InZone(c.windows, c.zone, t.Spec.TimeZone) {
			w.Days = week.UnlessAll(w.Days)
			t.Spec.Triggers = append(t.Spec.Triggers, v1alpha1.TimeTrigger{Name: fmt.Sprintf("cron-%d", len(t.Spec.Triggers)+1), Window: w,
				During: values(c.desired)})
		}
	}
	out.Emit(t, s)
}

// readable reports whether the bounds of a ScaledObject are counts.
func readable(s migrate.Object, out *migrate.Output) bool {
	for _, name := range []string{"minReplicaCount", "maxReplicaCount"} {
		bound := s.Get("spec." + name)
		if _, ok := migrate.Count(bound.String()); bound.Exists() && !ok {
			out.Leave(s, "%s is %q and no count", name, bound.String())
			return false
		}
	}
	return true
}

// targetKind returns the kind of a scaleTargetRef. The defaults are those of KEDA 1a746d1 (pkg/util/gvkr.go).
func targetKind(ref gjson.Result) schema.GroupKind {
	version, kind := cmp.Or(ref.Get("apiVersion").Str, "apps/v1"), cmp.Or(ref.Get("kind").Str, "Deployment")
	return migrate.Served(schema.FromAPIVersionAndKind(version, kind).GroupKind())
}

// convertCronOnly replaces a ScaledObject that has only cron triggers. The target of such a ScaledObject runs only in
// the windows, or has more replicas in them.
func convertCronOnly(s migrate.Object, crons []cronTrigger, out *migrate.Output) {
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
		for _, w := range week.InZone(c.windows, c.zone, rules.TimeZone) {
			w.Days = week.UnlessAll(w.Days)
			rules.Awake = append(rules.Awake, w)
		}
	}
	target := v1alpha1.TargetSelector{Kinds: migrate.Refs(kind), Names: []string{name}}
	out.Emit(&v1alpha1.Schedule{ObjectMeta: migrate.Meta(s.Namespace(), s.Name()),
		Spec: v1alpha1.ScheduleSpec{Target: target, ScheduleRules: rules}}, s).
		Note("it has no other trigger, and minReplicaCount is 0: delete the ScaledObject and set the replicas of %s %s to %d, which it wakes to",
			kind.Kind, name, crons[0].desired).
		Note("to go to 0 waits for cooldownPeriod (300 s unless set) there, and not here")
}
