package mercari

import (
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// Resource is one resource of a container, with its known numbers. Sizes are in thousandths.
type Resource struct {
	Container string
	// Memory is true for memory, false for CPU.
	Memory bool
	// Horizontal is true if a higher demand for the resource is met by more replicas (mode Horizontal). Otherwise it is
	// met by larger requests (mode Vertical).
	Horizontal bool
	Request    int64
	// Target and Upper come from the VerticalPodAutoscaler. A zero Target means that there is no recommendation yet.
	Target, Upper int64
	Limits        Limits
	// Utilisation is the target of the autoscaler's metric for the resource, in percent; zero: no metric yet. It is used
	// only for Horizontal resources.
	Utilisation int32
}

// Seen is the input at an instant.
type Seen struct {
	Now time.Time
	// Lost is true if there are no metrics. Manual is true if the spec asks for an emergency.
	Lost, Manual bool
	// Replicas is the number of replicas in the spec. Minimum is the minimum of the autoscaler.
	Replicas, Minimum int32
	// Resources are the resources that are not Off.
	Resources []Resource
}

// Decision has the numbers to set.
type Decision struct {
	Mode Mode
	// Sizes are the requests, in the order of the resources. RollOut is true if the requests are to be set now.
	Sizes   []Sized
	RollOut bool
	// Bound is true once every slot has a value. Bounds and Targets are to be set only then.
	Bound  bool
	Bounds Bounds
	// Targets are the target utilisations in percent, in the order of the resources; zero for a resource that is not
	// Horizontal.
	Targets []int32
}

// Learnt is the state of the formulas, with a JSON form.
type Learnt struct {
	// Low has the slots of the recommended minimum. Top has the slots of the recommended maximum.
	Low, Top Slots
	// Values has the value V of the formulas by container and resource.
	Values map[string]int64
	// Moved is the time of the last change of the utilisation. Rolled is the time of the last change of requests.
	Moved, Rolled time.Time
	Pressure      Pressure
	Mode          Mode
	LostSince     time.Time
}

// Formulas applies the formulas over time.
type Formulas struct {
	Config Config
	// Zone is the time zone of the slots.
	Zone *time.Location
	Learnt
}

// NewFormulas returns formulas without history, with slots in a time zone.
func NewFormulas(c Config, zone *time.Location) *Formulas {
	return &Formulas{Config: c, Zone: zone, Learnt: Learnt{Low: newSlots(c.Weekly), Top: newSlots(c.Weekly), Values: map[string]int64{}}}
}

// Decide returns the numbers to set at an instant. In an emergency, and on the way back from it, recommendations do not
// change. As long as some slot has no value, an emergency sets no bounds. Then there is no way back, and slots are filled
// as soon as the emergency is over.
func (f *Formulas) Decide(s Seen) Decision {
	d := Decision{Targets: f.targets(s), Bound: f.Low.Filled()}
	f.follow(s, d.Bound)
	low, top := f.Low.At(s.Now.In(f.Zone)), f.Top.At(s.Now.In(f.Zone))
	if f.Mode == Working {
		*low, *top = f.Config.Minimum(*low, s.Replicas, s.Now), f.Config.Maximum(*top, s.Replicas, s.Now)
		d.Bound = f.Low.Filled()
		f.size(s, &d)
	}
	if d.Bound {
		d.Bounds = f.Config.Bounds(f.Mode, low.Value, top.Value, s.Minimum)
		if d.Bounds.Done {
			f.Mode = Working
		}
		if f.Mode == Working {
			f.utilise(s, &d)
		}
	}
	d.Mode = f.Mode
	return d
}

// follow enters and leaves an emergency. If the spec asks for it, the emergency begins in every phase. If metrics are
// lost, it begins only in the phase Working.
func (f *Formulas) follow(s Seen, filled bool) {
	switch {
	case !s.Lost:
		f.LostSince = time.Time{}
	case f.LostSince.IsZero():
		f.LostSince = s.Now
	}
	lost := f.Config.Lost(f.LostSince, s.Now)
	switch {
	case s.Manual, f.Mode == Working && lost && PhaseOf(s.Resources, filled) == tune.Working:
		f.Mode = Emergency
	case f.Mode == Emergency && !s.Lost:
		f.Mode = BackToNormal
	}
	if f.Mode == BackToNormal && !filled {
		f.Mode = Working
	}
}

// PhaseOf returns the phase of a target outside of emergencies, from the phases of its resources.
func PhaseOf(resources []Resource, filled bool) tune.Phase {
	var all []tune.Phase
	for _, r := range resources {
		how := BySize
		if r.Horizontal {
			how = ByReplicas
		}
		all = append(all, ResourcePhase(how, r.Target > 0, filled))
	}
	return TargetPhase(all)
}

// Key returns the name of the resource among the resources of a target.
func (r Resource) Key() string {
	if r.Memory {
		return r.Container + "/memory"
	}
	return r.Container + "/cpu"
}

// size recommends the requests.
func (f *Formulas) size(s Seen, d *Decision) {
	horizontal := 0
	for _, r := range s.Resources {
		if r.Horizontal {
			horizontal++
		}
	}
	var raise bool
	f.Pressure, raise = f.Config.Press(f.Pressure, s.Replicas, s.Minimum, s.Now)
	changed, onlyDown := false, true
	for _, r := range s.Resources {
		if r.Target == 0 {
			d.Sizes = append(d.Sizes, Sized{r.Request, "nothing is recommended yet"})
			continue
		}
		f.Values[r.Key()] = Stored(f.Values[r.Key()], r.Target, r.Upper)
		sized := f.Config.Vertical(r.Request, f.Values[r.Key()], r.Limits)
		if r.Horizontal && !d.Bound {
			sized = Sized{r.Request, "not every slot has a value yet"}
		} else if r.Horizontal {
			sized = f.Config.Horizontal(Horizontal{
				Request: r.Request, Stored: f.Values[r.Key()], Limits: r.Limits, Replicas: s.Replicas, Minimum: s.Minimum, Target: f.target(r),
				Raise: raise, Several: horizontal > 1,
			})
		}
		d.Sizes = append(d.Sizes, sized)
		changed, onlyDown = changed || sized.Size != r.Request, onlyDown && sized.Size <= r.Request
	}
	if changed && f.Config.MayRestart(onlyDown, f.Rolled, s.Now) {
		d.RollOut, f.Rolled = true, s.Now
	}
}

// target returns the present target utilisation of a Horizontal resource. If the autoscaler has no metric of the
// resource, it returns Config.NewMetric, the first target of a new metric.
func (f *Formulas) target(r Resource) int32 {
	if r.Utilisation == 0 {
		return f.Config.NewMetric
	}
	return r.Utilisation
}

// targets returns the present target utilisations.
func (f *Formulas) targets(s Seen) []int32 {
	all := make([]int32, len(s.Resources))
	for i, r := range s.Resources {
		if r.Horizontal {
			all[i] = f.target(r)
		}
	}
	return all
}

// utilise changes the target utilisations of all Horizontal resources together.
func (f *Formulas) utilise(s Seen, d *Decision) {
	moved := false
	for i, r := range s.Resources {
		if !r.Horizontal || r.Target == 0 {
			continue
		}
		now := d.Targets[i]
		if proposed, ok := f.Config.Utilisation(r.Request, f.Values[r.Key()], now, s.Replicas); ok {
			d.Targets[i] = f.Config.ApplyUtilisation(now, proposed, f.Moved, s.Now)
			moved = moved || d.Targets[i] != now
		}
	}
	if moved {
		f.Moved = s.Now
	}
}
