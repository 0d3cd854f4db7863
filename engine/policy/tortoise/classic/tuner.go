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
}

// Seen is what there is at an instant.
type Seen struct {
	Now time.Time
	// Lost says that there are no metrics.
	Lost bool
	// Replicas are those of the spec; Minimum and Target those of the autoscaler, in replicas and percent.
	Replicas, Minimum, Target int32
	// Resources are those that are not Off. One Horizontal resource is the first of its kind.
	Resources []Resource
}

// Decision is what is set.
type Decision struct {
	Mode Mode
	// Sizes are the requests, in the order of the resources. RollOut says that they are to be set now.
	Sizes   []Sized
	RollOut bool
	// Bound says that every slot has a value, so that Bounds and Utilisation are to be set now.
	Bound       bool
	Bounds      Bounds
	Utilisation int32
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
	d := Decision{Utilisation: s.Target}
	if t.Mode == Working {
		t.size(s, &d)
	}
	if d.Bound = t.Low.Filled(); d.Bound {
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
	if t.Config.Lost(t.LostSince, s.Now) {
		t.Mode = Emergency
	}
}

func (r Resource) key() string {
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
		t.Values[r.key()] = Stored(t.Values[r.key()], r.Target, r.Upper)
		sized := t.Config.Vertical(r.Request, t.Values[r.key()], r.Limits)
		if r.Horizontal {
			sized = t.Config.Horizontal(Horizontal{
				Request: r.Request, Stored: t.Values[r.key()], Limits: r.Limits, Replicas: s.Replicas, Minimum: s.Minimum, Target: s.Target,
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

// utilise moves the target utilisation, by the first Horizontal resource.
func (t *Tuner) utilise(s Seen, d *Decision) {
	for _, r := range s.Resources {
		if !r.Horizontal || r.Target == 0 {
			continue
		}
		if proposed, ok := t.Config.Utilisation(r.Request, t.Values[r.key()], s.Target, s.Replicas); ok {
			if next := t.Config.ApplyUtilisation(s.Target, proposed, t.Moved, s.Now); next != s.Target {
				d.Utilisation, t.Moved = next, s.Now
			}
		}
		return
	}
}
