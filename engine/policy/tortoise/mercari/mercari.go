package mercari

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// Rules are the rules in the spec that change the parameters of the formulas.
type Rules struct {
	// Min, Max and PreferredMax are numbers of replicas; zero: the number of the original.
	Min, Max, PreferredMax int
	// StepDown is the largest share that one step takes from a request. Cooldown is the time between two roll-outs that only
	// lower requests.
	StepDown float64
	Cooldown time.Duration
	// Asked has the ways of scaling that the spec gives, by container; nil: it gives none.
	Asked map[string]Scalings
	// Least and Most are the bounds of requests that the spec gives, by container; zero: no bound.
	Least, Most map[string]tune.Requests
}

// Tuner tunes one target.
type Tuner struct {
	Rules Rules

	formulas *Formulas
	// zone is the name of the slots' time zone.
	zone string
	vpa  Recommender
	// targets are the target utilisations that were last set, by resource.
	targets map[string]int32
	// first and newest are the instants of the first and the newest sample.
	first, newest time.Time
}

// New returns an empty tuner.
func New() *Tuner {
	return &Tuner{formulas: NewFormulas(Default(), time.UTC), zone: time.UTC.String(), targets: map[string]int32{}}
}

// Observe learns from samples.
func (t *Tuner) Observe(samples ...workload.Sample) {
	for _, s := range samples {
		if s.Starting && s.OOMKills == 0 {
			continue
		}
		if t.first.IsZero() {
			t.first = s.At
		}
		if s.At.After(t.newest) {
			t.newest = s.At
		}
		t.vpa.Observe(tune.Finite(s))
	}
}

// HistoryRange returns the instants of the first and of the newest sample, or zero times.
func (t *Tuner) HistoryRange() (first, newest time.Time) { return t.first, t.newest }

// Forget drops all samples. The slots stay, because they come from decisions and not from samples.
func (t *Tuner) Forget() { t.vpa, t.first, t.newest = Recommender{}, time.Time{}, time.Time{} }

// MakeRoom drops the containers that the target does not have, if there is no room for another one.
func (t *Tuner) MakeRoom(has func(container string) bool) { t.vpa.MakeRoom(has) }

// lostSlack is the time without a sample after which metrics count as lost. The emergency begins five minutes after their
// loss.
const lostSlack = 2 * time.Minute

// config returns the parameters of the original, with the changes by the spec.
func (t *Tuner) config() Config {
	c, r := Default(), t.Rules
	if r.Min > 0 {
		c.MinimumMinReplicas, c.MaximumMinReplicas = int32(r.Min), max(c.MaximumMinReplicas, int32(r.Min))
	}
	if r.Max > 0 {
		c.MaximumMaxReplicas = int32(r.Max)
	}
	if r.PreferredMax > 0 {
		c.PreferredMaxReplicas = int32(r.PreferredMax)
	}
	if r.StepDown > 0 {
		c.MaxStepDown = 1 - r.StepDown
	}
	if r.Cooldown > 0 {
		c.RestartInterval = r.Cooldown
	}
	return c
}

// Decide returns the numbers to set at an instant.
func (t *Tuner) Decide(spec tune.Spec, o tune.Observed) tune.Recommendation {
	t.enter(spec)
	t.formulas.Config = t.config()
	tune.NotAfter(o.Now, &t.newest, &t.formulas.Moved, &t.formulas.Rolled, &t.formulas.LostSince) // a clock may have been ahead
	r := tune.Recommendation{Setting: o.Setting, Unbound: true}
	r.Setting.Requests = maps.Clone(o.Setting.Requests)
	if spec.Dry {
		maps.Copy(r.Setting.Requests, o.Own) // a recommendation that is not carried out is not in place
	}
	if o.Changed {
		t.formulas.Rolled = o.Now
	}
	scalings := t.scalings(spec, o)
	resources := t.resources(scalings, spec, o, r.Setting.Requests)
	d := t.formulas.Decide(Seen{
		Now: o.Now, Lost: t.lost(o), Manual: spec.Manual, Replicas: int32(max(o.Replicas, 1)), Minimum: int32(o.Setting.Min),
		Resources: resources,
	})
	r.Phase = t.phase(resources, d)
	r.Reasons = append(r.Reasons, tune.Reason{Of: "phase", Text: whys[r.Phase]})
	t.apply(&r, spec, resources, d)
	if len(d.Sizes) > 0 {
		t.explain(&r, spec, resources, d)
	}
	for name, s := range scalings {
		if s.CPU == Never && o.Own[name].CPU > 0 {
			r.Reasons = append(r.Reasons, tune.Reason{Of: tune.CPUReason(spec.Scaled, name),
				Text: "it stays: spec.resources does not name its CPU"})
		}
		if s.Memory == Never && o.Own[name].Memory > 0 {
			r.Reasons = append(r.Reasons, tune.Reason{Of: name + " memory", Text: "it stays: spec.resources does not name its memory"})
		}
	}
	return r
}

// lost reports whether metrics are lost, and records the time of their loss. Missing samples count from the newest sample,
// or from the begin of measuring if it is later.
func (t *Tuner) lost(o tune.Observed) bool {
	if t.newest.IsZero() {
		return false
	}
	known := t.newest
	if o.Since.After(known) {
		known = o.Since
	}
	silent := o.Now.Sub(known)
	if silent < lostSlack && !o.Stuck {
		return false
	}
	if t.formulas.LostSince.IsZero() {
		t.formulas.LostSince = o.Now
		if silent >= lostSlack {
			t.formulas.LostSince = known
		}
	}
	if o.Since.After(t.formulas.LostSince) {
		t.formulas.LostSince = o.Since // the target was not measured in between
	}
	return true
}

// scalings returns the ways of scaling by container. A metric for whole pods counts as a metric of the scaled container.
// Without an autoscaler, CPU that would be scaled by replicas is scaled by size.
func (t *Tuner) scalings(spec tune.Spec, o tune.Observed) map[string]Scalings {
	var all []Container
	for _, name := range slices.Sorted(maps.Keys(o.Own)) {
		c := Container{Name: name, CPU: o.Own[name].CPU > 0, Memory: o.Own[name].Memory > 0}
		for _, at := range o.Targets {
			if at.Container == name || at.Container == "" && name == spec.Scaled {
				c.CPUMetric, c.MemoryMetric = c.CPUMetric || !at.Memory, c.MemoryMetric || at.Memory
			}
		}
		all = append(all, c)
	}
	asked := map[string]Scalings{}
	for name, s := range t.Rules.Asked {
		if _, has := o.Own[name]; has { // missing containers are reported elsewhere
			asked[name] = s
		}
	}
	how := Policies(all, asked, o.Attached)
	for name, s := range how {
		if !o.Attached && s.CPU == ByReplicas {
			s.CPU = BySize
		}
		how[name] = s
	}
	return how
}

// resources returns the resources that are not Off, as input of the formulas.
func (t *Tuner) resources(how map[string]Scalings, spec tune.Spec, o tune.Observed, requests map[string]tune.Requests) []Resource {
	var all []Resource
	c := t.formulas.Config
	for _, name := range slices.Sorted(maps.Keys(how)) {
		least, most, request := t.Rules.Least[name], t.Rules.Most[name], requests[name]
		if s := how[name].CPU; s != Never && request.CPU > 0 {
			target, upper := t.vpa.CPU(name, o.Now)
			if spec.Vertical {
				target, upper = float64(o.Vertical[name].Target.CPU), float64(o.Vertical[name].Upper.CPU)
			}
			all = append(all, t.aimed(Resource{
				Container: name, Horizontal: s == ByReplicas, Request: request.CPU, Target: int64(target), Upper: int64(upper),
				Limits: c.CPU(least.CPU, most.CPU),
			}, spec, o))
		}
		if s := how[name].Memory; s != Never && request.Memory > 0 {
			target, upper := t.vpa.Memory(name, o.Now)
			if spec.Vertical {
				target, upper = float64(o.Vertical[name].Target.Memory), float64(o.Vertical[name].Upper.Memory)
			}
			all = append(all, t.aimed(Resource{
				Container: name, Memory: true, Horizontal: s == ByReplicas, Request: request.Memory * thousandth,
				Target: int64(target * thousandth), Upper: int64(upper * thousandth), Limits: c.Memory(least.Memory*thousandth, most.Memory*thousandth),
			}, spec, o))
		}
	}
	return all
}

// aimed adds the target utilisation of a resource. This is the target utilisation that was last set, or the owner's.
func (t *Tuner) aimed(r Resource, spec tune.Spec, o tune.Observed) Resource {
	if !r.Horizontal {
		return r
	}
	if set, ok := t.targets[r.Key()]; ok && !spec.Dry {
		r.Utilisation = set
		return r
	}
	for _, at := range o.Targets {
		if at.Memory == r.Memory && (at.Container == r.Container || at.Container == "" && r.Container == spec.Scaled) {
			r.Utilisation = int32(at.Percent)
		}
	}
	return r
}

// phase returns the phase of the target.
func (t *Tuner) phase(resources []Resource, d Decision) tune.Phase {
	switch {
	case t.newest.IsZero() && d.Mode == Working:
		return tune.Initializing
	case d.Mode == Emergency:
		return tune.Emergency
	case d.Mode == BackToNormal:
		return tune.BackToNormal
	}
	return PhaseOf(resources, d.Bound)
}

// whys has the meaning of each phase in the formulas.
var whys = map[tune.Phase]string{
	tune.Initializing:  "nothing was seen yet",
	tune.GatheringData: "not every hour of the week was seen, and nothing is scaled by its size",
	tune.PartlyWorking: "not every hour of the week has a sample: resources scaled by replicas wait",
	tune.Working:       "all that the formulas need was seen",
	tune.Emergency:     "metrics are lost, or the spec asks for it: the minimum is the maximum",
	tune.BackToNormal:  "the minimum falls by a twentieth with each decision",
}

// apply puts a decision into the setting. The minimum is at most the maximum, so the autoscaler stays valid.
func (t *Tuner) apply(r *tune.Recommendation, spec tune.Spec, resources []Resource, d Decision) {
	for i, size := range d.Sizes {
		if !d.RollOut && !spec.Dry {
			break
		}
		of := resources[i]
		request := r.Setting.Requests[of.Container]
		if of.Memory {
			request.Memory = size.Size / thousandth
		} else {
			request.CPU = size.Size
		}
		r.Setting.Requests[of.Container] = request
	}
	r.Request = r.Setting.Requests[spec.Scaled].CPU
	horizontal := slices.ContainsFunc(resources, func(of Resource) bool { return of.Horizontal })
	if r.Unbound = !d.Bound || !horizontal; r.Unbound {
		return
	}
	r.Setting.Max = max(int(d.Bounds.Max), 1)
	r.Setting.Min = min(max(int(d.Bounds.Min), 1), r.Setting.Max)
	for i, of := range resources {
		if !of.Horizontal {
			continue
		}
		t.targets[of.Key()] = d.Targets[i]
		r.Targets = append(r.Targets, tune.Target{Container: of.Container, Memory: of.Memory, Percent: int(d.Targets[i])})
		if of.Container == spec.Scaled && !of.Memory {
			r.Setting.Utilisation = int(d.Targets[i])
		}
	}
}

// explain adds a reason for each number.
func (t *Tuner) explain(r *tune.Recommendation, spec tune.Spec, resources []Resource, d Decision) {
	say := func(of, format string, args ...any) {
		r.Reasons = append(r.Reasons, tune.Reason{Of: of, Text: fmt.Sprintf(format, args...)})
	}
	for i, size := range d.Sizes {
		of, name, v := resources[i], tune.CPUReason(spec.Scaled, resources[i].Container),
			fmt.Sprintf("%dm", t.formulas.Values[resources[i].Key()])
		if of.Memory {
			name, v = of.Container+" memory", fmt.Sprintf("%d MiB", t.formulas.Values[of.Key()]/thousandth>>20)
		}
		switch {
		case size.Size == of.Request:
			say(name, "it stays: %s; V is %s", size.Reason, v)
		case !d.RollOut && !spec.Dry:
			say(name, "it stays until an hour after the last roll-out: %s; V is %s", size.Reason, v)
		default:
			say(name, "%s; V is %s", size.Reason, v)
		}
	}
	c := t.formulas.Config
	if r.Unbound {
		for _, of := range []string{"min", "max", "utilisation"} {
			say(of, "it stays: not every hour of the week was seen, or nothing is Horizontal")
		}
		return
	}
	say("min", "half the replicas that there were in this hour of the week, from %d to %d", c.MinimumMinReplicas, c.MaximumMinReplicas)
	say("max", "twice the replicas that there were in this hour of the week, at most %d", c.MaximumMaxReplicas)
	say("utilisation", "by V over the request, from %d %% to %d %%, at most %d more a day", c.MinUtilisation, c.MaxUtilisation, c.MaxIncrease)
}

// enter selects the slots for the spec's time zone and season. If the zone or the season has changed, the slots begin
// anew.
func (t *Tuner) enter(spec tune.Spec) {
	f, zone := t.formulas, spec.Zone
	if zone == nil {
		zone = time.UTC
	}
	if empty := newSlots(!spec.Daily); len(f.Low) != len(empty) || t.zone != zone.String() {
		f.Low, f.Top = empty, newSlots(!spec.Daily)
	}
	f.Zone, t.zone = zone, zone.String()
}

// Hours returns the minima of the next 24 hours, one for each hour from the present one. It returns nil as long as some
// slot has no value.
func (t *Tuner) Hours(spec tune.Spec, now time.Time, _ int64) []int {
	f := t.formulas
	if !f.Low.Filled() {
		return nil
	}
	all := make([]int, hoursOfDay)
	for i := range all {
		at := tune.HourOf(now, spec.Zone).Add(time.Duration(i) * time.Hour).In(f.Zone)
		b := f.Config.Bounds(Working, f.Low.At(at).Value, f.Top.At(at).Value, 0)
		all[i] = int(min(b.Min, b.Max))
	}
	return all
}
