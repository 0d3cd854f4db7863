package tortoise

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// days is the number of simulated days of a family. teachDays is the number of days at the beginning for learning,
// which are not measured.
const days, teachDays = 28, 7

// Families are the kinds of load that are generated from a seed, in the order of the table.
var Families = []string{
	"diurnal", "weekly", "noon-spike", "flash-crowd", "release-step", "growth", "outage-herd", "holiday", "bursty", "blackout", "sidecar",
	"memory-ramp",
	"drifting-period", "daily-crowd", "first-crowd", "month-end", "retired", "growth-tenth", "moved-users", "retry-storm",
}

// events maps a family to a function that changes the demand of a world, or the world. On top of days and weeks come: a spike of 2.5
// times for ten minutes on working days; crowds of 3 to 10 times within a minute every few days, of 2 to 4 times each day, and once
// of three times the peak; four times for a night at the end of a month; a release, growth by 1 % or a tenth a day; retirement to 2
// %, and a third on holidays; outages with 2 to 6 times afterwards; users six hours later, days of another length; bursts; 20
// minutes a day without metrics; a sidecar with five times the needed request; and memory that grows until pods are killed, which is
// in no sum.
var events = map[string]func(*world, *rand.Rand){
	"diurnal":         func(*world, *rand.Rand) {},
	"weekly":          func(*world, *rand.Rand) {},
	"noon-spike":      noonSpike,
	"flash-crowd":     flashCrowd,
	"release-step":    func(w *world, _ *rand.Rand) { w.scale(13*ticksPerDay+11*hour, len(w.demand), 1.5) },
	"growth":          func(w *world, _ *rand.Rand) { w.grow(1, 1.01) },
	"outage-herd":     outageHerd,
	"holiday":         func(w *world, _ *rand.Rand) { w.scale(16*ticksPerDay, 18*ticksPerDay, 0.35) },
	"bursty":          bursty,
	"blackout":        blackout,
	"sidecar":         func(w *world, _ *rand.Rand) { w.sidecar, w.owner.side = 0.1, 500 },
	"memory-ramp":     func(w *world, _ *rand.Rand) { w.leak, w.grown, w.apart = 20, 25, true },
	"drifting-period": func(*world, *rand.Rand) {},
	"daily-crowd":     dailyCrowd,
	"first-crowd":     firstCrowd,
	"month-end":       monthEnd,
	"retired":         func(w *world, r *rand.Rand) { w.scale((10+r.IntN(5))*ticksPerDay+9*hour, len(w.demand), 0.02) },
	"growth-tenth":    func(w *world, _ *rand.Rand) { w.grow(0.1, 1.1) },
	"moved-users":     func(*world, *rand.Rand) {},
	"retry-storm":     retryStorm,
}

// hour is an hour in ticks.
const hour = 60 * ticksPerMin

// shape has the parameters of a load, which a seed chooses.
type shape struct {
	peak, trough, weekend, sigma float64
	// period is the length of a day in hours. If moved is not 0, the days are six hours later from the tick moved on.
	period float64
	moved  int
}

// newWorld generates the world of a family and a seed. The length is in days. Tests use a short length.
func newWorld(family string, seed uint64, length int) *world {
	r := rand.New(rand.NewPCG(seed, hash(family)))
	pick := func(values ...float64) float64 { return values[r.IntN(len(values))] }
	s := shape{peak: pick(2000, 4000, 8000), trough: pick(2, 4, 8), weekend: 1, sigma: []float64{0.05, 0.2}[seed%2], period: 24}
	if family != "diurnal" {
		s.weekend = pick(0.3, 0.6, 1)
	}
	switch family {
	case "weekly":
		s.weekend = pick(0.3, 0.6)
	case "drifting-period":
		s.period = pick(22.5, 23.25, 24.75, 25.5)
	case "moved-users":
		s.moved = 14 * ticksPerDay
	}
	w := &world{
		name: family, seed: seed, sidecar: 0.03, memoryBase: 300, memoryPerMilli: 0.2, teach: teachDays * ticksPerDay,
		start: time.Date(2037, 1, 5, 0, 0, 0, 0, time.UTC), // a Monday
		ready: int(pick(1, 2, 6)), node: 3, lag: 1 + r.IntN(2), spread: pick(0.05, 0.15), owner: ownSetting(),
		demand: make([]float64, length*ticksPerDay), blind: make([]bool, length*ticksPerDay), unknown: make([]bool, length*ticksPerDay),
	}
	noise := 0.0
	for t := range w.demand {
		noise = 0.9*noise + s.sigma*math.Sqrt(1-0.9*0.9)*r.NormFloat64()
		w.demand[t] = s.level(t) * math.Exp(noise)
	}
	events[family](w, r)
	w.bind()
	return w
}

// ownSetting returns the owner's setting in a world that has no special one.
func ownSetting() setting {
	return setting{app: 1000, side: 100, memory: 1024, minimum: 3, maximum: 100, target: 70}
}

// bind sets the owner's maximum by the seed. It is too small for the largest demand, just enough for it, or much
// larger.
func (w *world) bind() {
	enough := slices.Max(w.demand) / threshold / w.owner.app
	switch w.seed % 3 {
	case 0:
		enough *= 0.8
	case 2:
		return
	}
	w.owner.maximum = min(max(int(math.Ceil(enough)), w.owner.minimum+1), w.owner.maximum)
}

// level returns the demand at a tick, without noise. The demand peaks at 14:00, and is different at weekends.
func (s shape) level(t int) float64 {
	if s.moved > 0 && t >= s.moved {
		t -= 6 * hour
	}
	hours := float64(t) / float64(hour)
	low := s.peak / s.trough
	v := low + (s.peak-low)*(0.5-0.5*math.Cos(2*math.Pi*(hours-2)/s.period))
	if day := t / ticksPerDay % 7; day >= 5 {
		v *= s.weekend
	}
	return v
}

// scale multiplies the demand of some ticks.
func (w *world) scale(from, to int, by float64) {
	for t := max(from, 0); t < min(to, len(w.demand)); t++ {
		w.demand[t] *= by
	}
}

// grow makes the demand begin at a share of the usual demand, and multiplies it each day.
func (w *world) grow(from, daily float64) {
	for t := range w.demand {
		w.demand[t] *= from * math.Pow(daily, float64(t)/float64(ticksPerDay))
	}
}

// surge multiplies the demand by up to a factor. The multiplier rises over some ticks, stays for some ticks, and falls
// over some ticks.
func (w *world) surge(from, rise, stay, fall int, factor float64) {
	for i := range rise + stay + fall {
		share := 1.0
		if i < rise {
			share = float64(i+1) / float64(rise)
		} else if i >= rise+stay {
			share = 1 - float64(i-rise-stay+1)/float64(fall+1)
		}
		w.scale(from+i, from+i+1, 1+(factor-1)*share)
	}
}

func noonSpike(w *world, _ *rand.Rand) {
	for day := range len(w.demand) / ticksPerDay {
		if day%7 < 5 {
			w.surge(day*ticksPerDay+12*hour, ticksPerMin, 9*ticksPerMin, 1, 2.5)
		}
	}
}

func flashCrowd(w *world, r *rand.Rand) {
	for t := r.IntN(4 * ticksPerDay); t < len(w.demand); t += 2*ticksPerDay + r.IntN(4*ticksPerDay) {
		w.surge(t, ticksPerMin, (10+r.IntN(20))*ticksPerMin, 15*ticksPerMin, 3+7*r.Float64())
	}
}

// dailyCrowd adds a crowd that comes each day at about the same time.
func dailyCrowd(w *world, r *rand.Rand) {
	usual := (8 + r.IntN(12)) * hour
	for day := range len(w.demand) / ticksPerDay {
		w.surge(day*ticksPerDay+usual+r.IntN(hour)-hour/2, ticksPerMin, (10+r.IntN(10))*ticksPerMin, 10*ticksPerMin, 2+2*r.Float64())
	}
}

// firstCrowd adds a crowd that comes only once, on a working day at the time of the peak. The demand is then three
// times as large.
func firstCrowd(w *world, r *rand.Rand) {
	day := 7*(1+r.IntN(3)) + 1 + r.IntN(4)
	w.surge(day*ticksPerDay+14*hour, 2*ticksPerMin, hour+r.IntN(hour), 30*ticksPerMin, 3)
}

// monthEnd adds a batch of some hours that has not come in the earlier weeks.
func monthEnd(w *world, r *rand.Rand) {
	w.surge((12+r.IntN(12))*ticksPerDay+r.IntN(4)*hour, 5*ticksPerMin, (6+r.IntN(4))*hour, 5*ticksPerMin, 4)
}

func outageHerd(w *world, r *rand.Rand) {
	for t := r.IntN(3 * ticksPerDay); t < len(w.demand); t += 2*ticksPerDay + r.IntN(3*ticksPerDay) {
		down := (20 + r.IntN(20)) * ticksPerMin
		w.scale(t, t+down, 0.02)
		w.surge(t+down, 1, 8*ticksPerMin, 10*ticksPerMin, 2+r.Float64())
	}
}

// retryStorm adds outages. After an outage all retries come at once, with several times the usual demand, and then
// become fewer.
func retryStorm(w *world, r *rand.Rand) {
	for t := r.IntN(5 * ticksPerDay); t < len(w.demand); t += 4*ticksPerDay + r.IntN(5*ticksPerDay) {
		down := (10 + r.IntN(50)) * ticksPerMin
		w.scale(t, t+down, 0.02)
		storm := 2 + 3*r.Float64()
		for i := range hour / 2 {
			w.scale(t+down+i, t+down+i+1, 1+storm*math.Exp(-float64(i)/float64(7*ticksPerMin)))
		}
	}
}

func bursty(w *world, r *rand.Rand) {
	w.scale(0, len(w.demand), 0.05)
	for t := r.IntN(ticksPerDay / 4); t < len(w.demand); t += r.IntN(ticksPerDay / 2) {
		w.surge(t, 2*ticksPerMin, (5+r.IntN(25))*ticksPerMin, 2*ticksPerMin, 4+8*r.Float64())
	}
}

// blackout removes the metrics for 20 minutes a day, at a random time of the day.
func blackout(w *world, r *rand.Rand) {
	for day := range len(w.demand) / ticksPerDay {
		from := day*ticksPerDay + (1+r.IntN(22))*hour
		for t := from; t < from+20*ticksPerMin; t++ {
			w.blind[t] = true
		}
	}
}
