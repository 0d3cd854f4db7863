package timeline

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/engine/timeline/recur"
)

// Names of the two transitions of a pair, as in State.Name.
const (
	Upscale   = "upscale"
	Downscale = "downscale"
)

// Pair returns the timeline of a cron pair in a zone: on from a firing of upscale until the next firing of downscale.
// So the cron that fired last decides. If both fire in the same minute, downscale wins. Repeated firings of one cron
// change nothing. Errors name fldPath.upscale and fldPath.downscale.
func Pair(upscale, downscale string, loc *time.Location, fldPath *field.Path) (Timeline, field.ErrorList) {
	var errs field.ErrorList
	up, err := recur.ParseCron(upscale)
	if err != nil {
		errs = append(errs, field.Invalid(fldPath.Child(Upscale), upscale, err.Error()))
	}
	down, err := recur.ParseCron(downscale)
	if err != nil {
		errs = append(errs, field.Invalid(fldPath.Child(Downscale), downscale, err.Error()))
	}
	if len(errs) > 0 {
		return Timeline{}, errs
	}
	return Timeline{
		root: &wall{zone: zoneOf(loc), set: newPair(up, down, Upscale, Downscale)},
		text: fmt.Sprintf("up %s, down %s %s", upscale, downscale, loc),
	}, nil
}

// pair is the clock-face rule of a cron pair.
type pair struct {
	up, down *recur.Cron
	// winning holds the firings of up without the days on which every firing of up ties with a firing of down.
	winning *recur.Cron
	// ties is true if winning may still hold single firings that tie.
	ties bool
	// off is true if every firing of up ties: the pair is never on.
	off bool
	// onLabel and offLabel are the labels of the two states.
	onLabel, offLabel string
}

func newPair(up, down *recur.Cron, onLabel, offLabel string) *pair {
	p := &pair{up: up, down: down, winning: up, ties: true, onLabel: onLabel, offLabel: offLabel}
	if up.ClockWithin(down) {
		// On a day with firings of both crons, every firing of up ties. On a day with firings of up only, no firing
		// ties.
		var ok bool
		p.winning, ok = up.NeverOnDaysOf(down)
		p.ties, p.off = false, !ok
	}
	return p
}

func (p *pair) state(reading int64) (bool, string) {
	if on, _ := p.last(reading); on {
		return true, p.onLabel
	}
	return false, p.offLabel
}

func (p *pair) transition(reading int64, d direction) (bool, int64) {
	if p.off {
		return false, d.farthest()
	}
	on, lastDown := p.last(reading)
	var transition int64
	var ok bool
	switch {
	case on && d == forward:
		transition, ok = p.down.From(reading) // the run ends at the next firing of down
	case on:
		transition, ok = p.up.From(lastDown + 1) // no firing of up ties between the last firing of down and the reading
	case d == forward:
		transition, ok = p.winFrom(reading) // the run ends at the next winning firing of up
	default:
		transition, ok = p.winUpTo(reading)
		if ok {
			transition, ok = p.down.From(transition)
		}
	}
	if !ok {
		return on, d.farthest()
	}
	return on, transition
}

// last returns the state at the reading and the last firing of down. Both crons always have a last firing: they repeat
// for ever in both directions.
func (p *pair) last(reading int64) (on bool, lastDown int64) {
	up, _ := p.up.UpTo(reading)
	down, _ := p.down.UpTo(reading)
	return up > down, down
}

// winFrom returns the first firing of up at or after the reading that does not tie. If the loop is reached, every day
// of winning has at least one such firing, so the loop covers at most two of these days.
func (p *pair) winFrom(reading int64) (int64, bool) {
	w, ok := p.winning.From(reading)
	for ok && p.ties && p.down.Fires(w) {
		w, ok = p.winning.From(w + 1)
	}
	return w, ok
}

// winUpTo returns the last firing of up at or before the reading that does not tie.
func (p *pair) winUpTo(reading int64) (int64, bool) {
	w, ok := p.winning.UpTo(reading)
	for ok && p.ties && p.down.Fires(w) {
		w, ok = p.winning.UpTo(w - 1)
	}
	return w, ok
}
