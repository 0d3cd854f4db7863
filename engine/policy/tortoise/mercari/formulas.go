// Package mercari is the profile Tortoise. It has the formulas of mercari/tortoise, one function for each formula, with
// their rounding, branches, order and faults. Formulas applies them over time. Tuner feeds samples and observations to
// them and turns their decision into a recommendation. Recommender replaces a VerticalPodAutoscaler. The other profiles
// are in package tune.
//
// Sizes of requests are int64 in thousandths of the resource's unit: milli-CPU, and thousandths of a byte. Utilisation is
// in whole percent of the request. Instants are arguments; the package calls no clock.
package mercari

import "time"

// Config has the parameters of the formulas. Default returns the parameters of the original.
type Config struct {
	// Weekly is true for slots of a week and false for slots of a day. Each slot is an hour.
	Weekly bool
	// MaxFactor and MinFactor are the factors by which the recommended maximum and minimum follow from the replicas.
	MaxFactor, MinFactor float64
	// MinimumMinReplicas and MaximumMinReplicas bound the recommended minimum.
	MinimumMinReplicas, MaximumMinReplicas int32
	// PreferredMaxReplicas is the number of replicas from which requests grow instead of replicas. MaximumMaxReplicas bounds
	// the maximum.
	PreferredMaxReplicas, MaximumMaxReplicas int32
	// Reduction is the factor from one minimum to the next on the way back from an emergency.
	Reduction float64
	// MinUtilisation and MaxUtilisation bound the target utilisation, in percent. NewMetric is the first target of a metric.
	MinUtilisation, MaxUtilisation, NewMetric int32
	// MaxIncrease is the largest increase of the target in one change, in percent points. UtilisationInterval is the time
	// between two changes.
	MaxIncrease         int32
	UtilisationInterval time.Duration
	// Buffer is the share by which vertical requests exceed the recommendation.
	Buffer float64
	// MaxStepDown is the smallest share of a request that is left after one step.
	MaxStepDown float64
	// MinCPU, MaxCPU, MinMemory and MaxMemory bound all requests, in thousandths.
	MinCPU, MaxCPU, MinMemory, MaxMemory int64
	// EmergencyAfter is the time without metrics after which an emergency begins.
	EmergencyAfter time.Duration
	// RestartInterval is the time between two roll-outs if the later one only lowers requests.
	RestartInterval time.Duration
}

// Profile is the name of the profile with these formulas.
const Profile = "Tortoise"

// thousandth is the number of thousandths of a unit.
const thousandth = 1000

// Default returns the parameters of the original.
func Default() Config {
	return Config{
		Weekly: true, MaxFactor: 2, MinFactor: 0.5, MinimumMinReplicas: 3, MaximumMinReplicas: 10, PreferredMaxReplicas: 30,
		MaximumMaxReplicas: 100,
		Reduction:          0.95, MinUtilisation: 65, MaxUtilisation: 90, NewMetric: 70, MaxIncrease: 5, UtilisationInterval: 24 * time.Hour,
		Buffer: 0.1, MaxStepDown: 0.8, MinCPU: 50, MaxCPU: 10 * thousandth, MinMemory: (50 << 20) * thousandth,
		MaxMemory:      (10 << 30) * thousandth,
		EmergencyAfter: 5 * time.Minute, RestartInterval: time.Hour,
	}
}

// Limits bound one request, in thousandths. PolicyMin and PolicyMax are the bounds of the policy; zero: none. GlobalMin
// and GlobalMax are the general bounds.
type Limits struct {
	PolicyMin, PolicyMax, GlobalMin, GlobalMax int64
}

// CPU returns the limits of a CPU request. The arguments are the bounds of the policy in milli-CPU.
func (c Config) CPU(policyMin, policyMax int64) Limits {
	return Limits{policyMin, policyMax, c.MinCPU, c.MaxCPU}
}

// Memory returns the limits of a memory request. The arguments are the bounds of the policy in thousandths of a byte.
func (c Config) Memory(policyMin, policyMax int64) Limits {
	return Limits{policyMin, policyMax, c.MinMemory, c.MaxMemory}
}

// Stored returns the value V of the formulas. V stays the same while target < V < upper. Otherwise it becomes the target
// of the VerticalPodAutoscaler.
func Stored(v, target, upper int64) int64 {
	if target < v && v < upper {
		return v
	}
	return target
}

// Clamp bounds a size. The lower bound is the largest of the minima and trunc(MaxStepDown * request). The upper bound is
// the smallest of the maxima. If the lower bound is above the upper bound, the upper bound wins.
func (c Config) Clamp(request, size int64, l Limits) int64 {
	lower := max(l.PolicyMin, l.GlobalMin, int64(float64(request)*c.MaxStepDown))
	upper := l.GlobalMax
	if l.PolicyMax > 0 {
		upper = min(upper, l.PolicyMax)
	}
	return min(max(size, lower), upper)
}

// Sized is a request with its reason.
type Sized struct {
	Size   int64
	Reason string
}

// Vertical returns the request of a Vertical resource. With B = 1 + Buffer and ideal = B * V:
//
//	ideal > R                        clamp(trunc(B * ideal))
//	R / B * (1 - Buffer) > ideal     clamp(trunc(ideal))
//	otherwise                        R, as it is
func (c Config) Vertical(request, stored int64, l Limits) Sized {
	ideal := float64(stored) * (1 + c.Buffer)
	if ideal > float64(request) {
		return Sized{c.Clamp(request, int64(ideal*(1+c.Buffer)), l), "more than the request is recommended: twice the buffer over it"}
	}
	if float64(request)/(1+c.Buffer)*(1-c.Buffer) > ideal {
		return Sized{c.Clamp(request, int64(ideal), l), "much less than the request is recommended: the buffer over it"}
	}
	return Sized{request, "the step down is too small"}
}

// Pressure records that the replicas have reached the preferred number.
type Pressure struct {
	Noted bool
	// Since is the last time when the pressure was noted, raised a request or was over.
	Since time.Time
}

// pressureInterval is the time between two increases of requests because of too many replicas.
const pressureInterval = 30 * time.Minute

// Press reports whether the requests are to be raised because of too many replicas. There are too many if N >=
// PreferredMaxReplicas and the autoscaler's minimum is below N. The first call with too many replicas only notes the
// pressure. While the pressure lasts, Press then returns true every 30 minutes. Below PreferredMaxReplicas the note is
// dropped.
func (c Config) Press(p Pressure, replicas, minimum int32, now time.Time) (next Pressure, raise bool) {
	if replicas < c.PreferredMaxReplicas {
		return Pressure{Since: now}, false
	}
	if minimum >= replicas || p.Noted && p.Since.Add(pressureInterval).After(now) {
		return p, false
	}
	return Pressure{Noted: true, Since: now}, p.Noted
}

// Horizontal is the input for the request of a Horizontal resource.
type Horizontal struct {
	// Request R and Stored V are in thousandths.
	Request, Stored int64
	Limits          Limits
	// Replicas N is the number in the spec. Minimum is the minimum of the autoscaler. Target is its target utilisation in
	// percent.
	Replicas, Minimum, Target int32
	// Raise is the result of Press. Several is true if more than one resource of the target is Horizontal.
	Raise, Several bool
}

// raised is the factor by which a request grows because of too many replicas. near is the share of the preferred replicas
// above which the request stays. farBelow is the share of the target utilisation below which the request shrinks.
const (
	raised       = 1.3
	near         = 0.8
	farBelow     = 0.9
	wholePercent = 100
)

// Horizontal returns the request of a Horizontal resource, by the first match:
//
//	Raise                                     clamp(trunc(1.3 * R))
//	N > trunc(0.8 * PreferredMaxReplicas)     R, as it is
//	N <= MinimumMinReplicas                   clamp(min(R, V))
//	not Several, or N = Minimum               clamp(R)
//	100 * V / R < 0.9 * Target                clamp(trunc(100 * V / Target))
//	otherwise                                 clamp(R)
func (c Config) Horizontal(h Horizontal) Sized {
	clamp := func(size int64) int64 { return c.Clamp(h.Request, size, h.Limits) }
	switch {
	case h.Raise:
		return Sized{clamp(int64(float64(h.Request) * raised)), "more replicas than preferred, for the second time"}
	case h.Replicas > int32(float64(c.PreferredMaxReplicas)*near):
		return Sized{h.Request, "nearly as many replicas as preferred"}
	case h.Replicas <= c.MinimumMinReplicas:
		return Sized{clamp(min(h.Request, h.Stored)), "the fewest replicas there may be: no more than is recommended"}
	case !h.Several:
		return Sized{clamp(h.Request), "no other resource is Horizontal"}
	case h.Replicas == h.Minimum:
		return Sized{clamp(h.Request), "the autoscaler's minimum keeps utilisation low"}
	case float64(h.Target)*farBelow > float64(h.Stored)/float64(h.Request)*wholePercent:
		return Sized{clamp(int64(float64(h.Stored) * wholePercent / float64(h.Target))), "far below the target: as much as makes it the target"}
	}
	return Sized{clamp(h.Request), "utilisation is near the target"}
}
