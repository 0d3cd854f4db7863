package tune

import (
	"fmt"
	"math"
)

// Aim is the jointly chosen setting.
type Aim struct {
	// Request is the request of the scaled container in milli-CPU. Target is the target utilisation in percent; 0: no
	// autoscaler.
	Request int64
	Target  int
	// Floor is the capacity of the minimum at all times, in milli-CPU. Share is the share of an hour's usual peak that the
	// minimum of the hour covers; 0: the minimum is the same at all hours.
	Floor, Share float64
}

// IsSound reports whether the numbers are possible results of a choice.
func (a Aim) IsSound() bool {
	const most = 1 << 50
	return a.Request >= 0 && a.Request <= most && a.Target >= 0 && a.Target <= mostTarget && a.Floor >= 0 && a.Floor <= most*mostReplicas &&
		a.Share >= 0 && a.Share <= 100
}

// mostTarget is the largest target in percent. Owners may set a target above 100 % of the request.
const mostTarget = 1_000_000

// Minimum returns the minimum in an hour with a usual peak, for pods with a request. The peak and the request are in
// milli-CPU.
func (a Aim) Minimum(peak float64, request int64, b Bounds) int {
	return b.replicas(max(a.Floor, a.Share*peak)/float64(max(request, 1)), request)
}

// Replicas returns the number of pods that is needed to keep a demand within the headroom, limited by the bounds.
func Replicas(demand float64, request int64, p Profile, b Bounds) int {
	return b.replicas(demand/(p.Headroom*float64(request)), request)
}

// replicas rounds a number of pods up and limits it to the bounds.
func (b Bounds) replicas(n float64, request int64) int {
	most := b.MaxFor(request)
	if math.IsNaN(n) {
		return most // with a demand that is not a number, nothing is known
	}
	// A thousandth above a whole number adds no pod. The precision of the learnt demand is half a thousandth.
	return int(min(max(math.Ceil(n*0.999), float64(b.Min)), float64(most)))
}

// Input is the input of a choice.
type Input struct {
	Profile Profile
	Bounds  Bounds
	System  System
	// Load is the replayed demand. Peaks has the usual peak of each hour of Load; 0: unknown.
	Load  Load
	Peaks []float64
	// Owner is the owner's setting. Now is the present aim.
	Owner, Now Aim
	// Resizing is the share of the cost that a different request must save at least, because it changes all pods. With 0,
	// the request does not change.
	Resizing float64
	// Beside is the CPU of other containers for each milli-CPU of the request. PerPod is the other cost of a pod with the
	// request Known. PerCPU is the growth of this cost with each additional milli-CPU. Costs are in milli-CPU.
	Beside, PerPod, PerCPU float64
	Known                  int64
	// Tolerance is the tolerance of the autoscaler. It does nothing while the utilisation is within the tolerance around the
	// target.
	Tolerance float64
}

// Result is the replayed outcome of an aim.
type Result struct {
	// Cost is the mean cost in milli-CPU. Minutes is the number of minutes with demand above the headroom. Known is the
	// number of minutes with known demand.
	Cost, Minutes, Known float64
	// score is the cost including the price of the violations.
	score float64
}

// Choice is a chosen aim.
type Choice struct {
	Aim Aim
	// Owner is the result of the owner's setting, Before is the result of the present aim, and After is the result of the
	// chosen aim.
	Owner, Before, After Result
}

const (
	// worth is the share of the cost that a change of the target and the minimum must save.
	worth = 0.02
	// spare is the number of minutes per week by which the violations of a setting may exceed those of the owner's setting
	// without an extra price.
	spare = 1.0
	week  = 7 * 24 * 60.0
	// beyond is the price of violations above spare.
	beyond = 1000
	// over is the additional price of each pod above the preferred number, as a share of the pod's cost.
	over = 1.0
)

// Choose returns the aim with the lowest cost in the replay. It returns the present aim if no other aim saves enough.
func Choose(in Input) Choice {
	s := search{in: in, seen: map[played]Result{}}
	s.owner = s.play(in.Owner)
	c := Choice{Aim: in.Now, Owner: s.result(in.Owner), Before: s.result(in.Now)}
	kept := s.best(in.Now, []float64{1})
	if s.result(kept).score < (1-worth)*c.Before.score {
		c.Aim = kept
	}
	if in.Resizing > 0 {
		if resized := s.best(kept, factors); s.result(resized).score < (1-in.Resizing)*s.result(kept).score {
			c.Aim = resized
		}
	}
	c.After = s.result(c.Aim)
	return c
}

// search has the results of the aims that were replayed.
type search struct {
	in    Input
	owner Result
	seen  map[played]Result
}

// played is the part of an aim on which its replay depends. Several aims may have the same minimum.
type played struct {
	PodSetting
	share float64
}

func (s *search) setting(a Aim) PodSetting {
	return PodSetting{Request: a.Request, Target: a.Target, Min: a.Minimum(0, a.Request, s.in.Bounds),
		Max: s.in.Bounds.MaxFor(a.Request)}
}

// shares are the tried values of Aim.Share: the minimum of an hour as a share of the hour's peak. floors are the tried
// values of Aim.Floor, as shares of the owner's floor.
var (
	shares = []float64{0, 0.5, 0.7, 0.85, 1, 1.15, 1.3}
	floors = []float64{0, 0.5, 1}
	// targets are the tried target utilisations. The highest target at which the autoscaler acts before the headroom is used
	// up is tried too.
	targets = []int{50, 55, 60, 65, 70, 75}
	// factors are the tried factors of the request.
	factors = []float64{0.5, 0.71, 0.84, 1.19, 1.41, 2}
)

// best returns the best aim whose request is the present request times one of the factors. Smaller pods can pay for the
// fewer violations of a lower target, and a lower floor for smaller pods. So requests, targets and floors are tried
// together. After that, minima by hour are tried with all targets.
func (s *search) best(from Aim, factors []float64) Aim {
	best := from
	try := func(a Aim) {
		if score := s.result(best).score; s.least(a) < score && s.result(a).score < score {
			best = a
		}
	}
	all := s.targets(from.Target)
	for _, factor := range factors {
		request := int64(math.Round(float64(from.Request) * factor))
		request = max(min(request, s.in.Bounds.MaxRequest), s.in.Bounds.MinRequest)
		for _, target := range all {
			for _, floor := range floors {
				try(Aim{request, target, floor * s.in.Owner.Floor, from.Share})
			}
		}
	}
	for _, target := range all {
		for _, share := range shares {
			try(Aim{best.Request, target, best.Floor, share})
		}
	}
	return best
}

// targets returns the tried target utilisations. Without an autoscaler, only 0 is tried.
func (s *search) targets(now int) []int {
	if now == 0 {
		return []int{0}
	}
	highest := Utilisation(s.in)
	all := []int{now, highest}
	for _, target := range targets {
		if target >= s.in.Bounds.MinUtilisation && target < highest && target != now {
			all = append(all, target)
		}
	}
	return all
}

// result returns the result of an aim, with its score.
func (s *search) result(a Aim) Result {
	as := played{s.setting(a), a.Share}
	r, known := s.seen[as]
	if known {
		return r
	}
	r = s.play(a)
	of := max(r.Known, 1)
	r.score = r.Cost + s.in.Profile.Violation*r.Minutes/of*s.owner.Cost
	if more := r.Minutes - s.owner.Minutes - spare*of/week; more > 0 {
		r.score += beyond * more / of * s.owner.Cost
	}
	s.seen[as] = r
	return r
}

// play replays an aim.
func (s *search) play(a Aim) Result {
	var minima []int
	if a.Share > 0 {
		minima = make([]int, len(s.in.Peaks))
		for i, peak := range s.in.Peaks {
			minima[i] = a.Minimum(peak, a.Request, s.in.Bounds)
		}
	}
	o := Play(s.in.Load, s.in.System, s.setting(a), minima)
	return Result{Cost: s.cost(a, o.Pods()), Minutes: o.Minutes(), Known: float64(o.Steps) * ReplayStep.Minutes()}
}

// cost returns the cost of an aim with this mean number of pods, in milli-CPU.
func (s *search) cost(a Aim, pods float64) float64 {
	pod := float64(a.Request)*(1+s.in.Beside) + max(s.in.PerPod+s.in.PerCPU*float64(a.Request-s.in.Known), 0)
	if most := float64(s.in.Bounds.PreferredMax); most > 0 {
		pods += over * max(pods-most, 0)
	}
	return pod * pods
}

// least returns a lower estimate of the cost of an aim. It assumes that the number of pods follows the demand at once, and
// is just enough for the autoscaler to start no more. So an aim can be rejected as too expensive without a replay.
func (s *search) least(a Aim) float64 {
	set, sum, known := s.setting(a), 0.0, 0.0
	served := float64(set.Request) * float64(set.Target) / 100 * (1 + s.in.Tolerance)
	for _, demand := range s.in.Load.Demand {
		if demand < 0 {
			continue
		}
		if known++; set.Target == 0 {
			sum += float64(set.Min)
		} else {
			sum += min(max(float64(demand)/served, float64(set.Min)), float64(set.Max))
		}
	}
	return s.cost(a, sum/max(known, 1))
}

// Utilisation returns the highest target at which the autoscaler still acts before the headroom is used up. It allows for
// the tolerance.
func Utilisation(in Input) int {
	u := int(math.Floor(in.Profile.Headroom / (1 + in.Tolerance) * 100))
	return min(max(u, in.Bounds.MinUtilisation), in.Bounds.MaxUtilisation)
}

// Text returns the reason for a choice. A minute is slow if the demand exceeds Headroom of the requests of the ready
// pods.
func (c Choice) Text(b Bounds) string {
	return fmt.Sprintf("%s instead of %s as its owner has it, and %.0f slow minutes instead of %.0f, in a replay of %s with %s; "+
		"before this choice %s and %.0f", cores(c.After.Cost), cores(c.Owner.Cost), c.After.Minutes, c.Owner.Minutes, days(c.After.Known),
		c.Aim.text(b), cores(c.Before.Cost), c.Before.Minutes)
}

// text describes a setting in a few words.
func (a Aim) text(b Bounds) string {
	low, high := a.Minimum(0, a.Request, b), b.MaxFor(a.Request)
	pods := fmt.Sprintf("%d to %d pods of %dm", low, high, a.Request)
	if a.Target == 0 {
		return pods
	}
	return fmt.Sprintf("%s at %d %%", pods, a.Target)
}

func cores(milli float64) string { return fmt.Sprintf("%.2f cores", milli/1000) }

func days(minutes float64) string {
	if d := minutes / (24 * 60); d >= 1.95 {
		return fmt.Sprintf("%.0f days", d)
	}
	return fmt.Sprintf("%.0f hours", minutes/60)
}
