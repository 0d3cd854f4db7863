package classic

import "time"

// Resource is one resource of one container, with what is known of it. Sizes are in thousandths.
type Resource struct {
	Container string
	// Memory is true for memory, false for CPU.
	Memory bool
	// Horizontal says that more of it comes by replicas; else it is Vertical.
	Horizontal bool
	Request    int64
	// Target and Upper are the VPA's; a zero Target says that it recommends nothing yet.
	Target, Upper int64
	Limits        Limits
	// Utilisation is what the autoscaler's metric for it aims at, in percent; zero: there is no metric yet. It counts for Horizontal only.
	Utilisation int32
}

// Seen is what there is at an instant.
type Seen struct {
	Now time.Time
	// Lost says that there are no metrics. Manual asks for an emergency whether there are or not.
	Lost, Manual bool
	// Replicas are those of the spec, Minimum that of the autoscaler.
	Replicas, Minimum int32
	// Resources are those that are not Off.
	Resources []Resource
}

// Decision is what is set.
type Decision struct {
	Mode Mode
	// Sizes are the requests, in the order of the resources. RollOut says that they are to be set now.
	Sizes   []Sized
	RollOut bool
	// Bound says that every slot has a value, so that Bounds and Targets are to be set now.
	Bound  bool
	Bounds Bounds
	// Targets are the target utilisations in percent, in the order of the resources; zero where a resource is not Horizontal.
	Targets []int32
}

// Tuner applies the formulas over time. Its fields are all that it remembers.
type Tuner struct {
	Config Config
	// Low and Top are the slots of the recommended minimum and maximum.
	Low, Top Slots
	// Values are V by container and resource.
	Values map[string]int64
	// Moved is when the utilisation was last changed, Rolled when requests were.
	Moved, Rolled time.Time
	Pressure      Pressure
	Mode          Mode
	LostSince     time.Time
}

// NewTuner gives a tuner that has seen nothing, with slots in a time zone.
func NewTuner(c Config, zone *time.Location) *Tuner {
	return &Tuner{Config: c, Low: NewSlots(c.Weekly, zone), Top: NewSlots(c.Weekly, zone), Values: map[string]int64{}}
}

// Decide gives what is to be set at an instant. In an emergency, and on the way back from it, recommendations stay as they are.
func (t *Tuner) Decide(s Seen) Decision {
	t.lose(s)
	slot := t.Low.At(s.Now)
	if t.Mode == Working {
		t.Low.Values[slot] = t.Config.Minimum(t.Low.Values[slot], s.Replicas, s.Now)
		t.Top.Values[slot] = t.Config.Maximum(t.Top.Values[slot], s.Replicas, s.Now)
	}
	d := Decision{Targets: t.targets(s), Bound: t.Low.Filled()}
	if t.Mode == Working {
		t.size(s, &d)
	}
	if d.Bound {
		d.Bounds = t.Config.Bounds(t.Mode, t.Low.Values[slot].Value, t.Top.Values[slot].Value, s.Minimum)
		if d.Bounds.Done {
			t.Mode = Working
		}
		if t.Mode == Working {
			t.utilise(s, &d)
		}
	}
	d.Mode = t.Mode
	return d
}

// lose follows whether there are metrics.
func (t *Tuner) lose(s Seen) {
	switch {
	case !s.Lost:
		t.LostSince = time.Time{}
		if t.Mode == Emergency {
			t.Mode = BackToNormal
		}
	case t.LostSince.IsZero():
		t.LostSince = s.Now
	}
	if s.Manual || t.Config.Lost(t.LostSince, s.Now) {
		t.Mode = Emergency
	}
}

// Key names the resource among those of a target.
func (r Resource) Key() string {
	if r.Memory {
		return r.Container + "/memory"
	}
	return r.Container + "/cpu"
}

// size recommends requests.
func (t *Tuner) size(s Seen, d *Decision) {
	horizontal := 0
	for _, r := range s.Resources {
		if r.Horizontal {
			horizontal++
		}
	}
	var raise bool
	t.Pressure, raise = t.Config.Press(t.Pressure, s.Replicas, s.Minimum, s.Now)
	changed, onlyDown := false, true
	for _, r := range s.Resources {
		if r.Target == 0 {
			d.Sizes = append(d.Sizes, Sized{r.Request, "nothing is recommended yet"})
			continue
		}
		t.Values[r.Key()] = Stored(t.Values[r.Key()], r.Target, r.Upper)
		sized := t.Config.Vertical(r.Request, t.Values[r.Key()], r.Limits)
		if r.Horizontal && !d.Bound {
			sized = Sized{r.Request, "not every slot has a value yet"}
		} else if r.Horizontal {
			sized = t.Config.Horizontal(Horizontal{
				Request: r.Request, Stored: t.Values[r.Key()], Limits: r.Limits, Replicas: s.Replicas, Minimum: s.Minimum, Target: t.target(r),
				Raise: raise, Several: horizontal > 1,
			})
		}
		d.Sizes = append(d.Sizes, sized)
		changed, onlyDown = changed || sized.Size != r.Request, onlyDown && sized.Size <= r.Request
	}
	if changed && t.Config.MayRestart(onlyDown, t.Rolled, s.Now) {
		d.RollOut, t.Rolled = true, s.Now
	}
}

// target gives the target utilisation that a Horizontal resource has now; a metric that there is not yet would begin with NewMetric.
func (t *Tuner) target(r Resource) int32 {
	if r.Utilisation == 0 {
		return t.Config.NewMetric
	}
	return r.Utilisation
}

// targets are the target utilisations as they are.
func (t *Tuner) targets(s Seen) []int32 {
	all := make([]int32, len(s.Resources))
	for i, r := range s.Resources {
		if r.Horizontal {
			all[i] = t.target(r)
		}
	}
	return all
}

// utilise moves the target utilisations of all Horizontal resources, together.
func (t *Tuner) utilise(s Seen, d *Decision) {
	moved := false
	for i, r := range s.Resources {
		if !r.Horizontal || r.Target == 0 {
			continue
		}
		now := d.Targets[i]
		if proposed, ok := t.Config.Utilisation(r.Request, t.Values[r.Key()], now, s.Replicas); ok {
			d.Targets[i] = t.Config.ApplyUtilisation(now, proposed, t.Moved, s.Now)
			moved = moved || d.Targets[i] != now
		}
	}
	if moved {
		t.Moved = s.Now
	}
}
