package original

import (
	"errors"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/classic"
	"flyball.dev/flyball/engine/policy/tortoise/vpa"
)

// Kept is all that survives a restart, in a form that can be kept as JSON.
type Kept struct {
	Low, Top []classic.Slot
	// Zone is the name of the time zone of the slots; empty: UTC.
	Zone          string `json:",omitempty"`
	Values        map[string]int64
	Moved, Rolled time.Time
	Pressure      classic.Pressure
	Mode          classic.Mode
	LostSince     time.Time
	Targets       map[string]int32
	First, Newest time.Time
	VPA           vpa.Kept
}

// Keep gives all that was learnt.
func (t *Tuner) Keep() *Kept {
	f := t.formulas
	return &Kept{
		Low: f.Low.Values, Top: f.Top.Values, Zone: t.zone, Values: f.Values, Moved: f.Moved, Rolled: f.Rolled, Pressure: f.Pressure, Mode: f.Mode, LostSince: f.LostSince,
		Targets: t.targets, First: t.first, Newest: t.newest, VPA: t.vpa.Keep(),
	}
}

// IsSound says whether numbers are such as are kept: counts of replicas, sizes and shares that are not below zero, and a mode that there is.
func (k *Kept) IsSound() bool {
	const mostReplicas, mostPercent = 1_000_000, 1_000_000
	sound := k.Mode >= classic.Working && k.Mode <= classic.BackToNormal
	for _, s := range slices.Concat(k.Low, k.Top) {
		sound = sound && s.Value >= 0 && s.Value <= mostReplicas
	}
	for _, v := range k.Values {
		sound = sound && v >= 0
	}
	for _, percent := range k.Targets {
		sound = sound && percent >= 0 && percent <= mostPercent
	}
	return sound
}

// Restore makes a tuner of what was kept.
func Restore(k *Kept) (*Tuner, error) {
	t := New()
	f := t.formulas
	if daily := classic.NewSlots(false, time.UTC); len(k.Low) == len(daily.Values) {
		f.Low, f.Top = daily, classic.NewSlots(false, time.UTC)
	}
	if k.Zone != "" {
		t.zone = k.Zone
	}
	if len(k.Low) != len(f.Low.Values) || len(k.Top) != len(f.Top.Values) {
		return nil, errors.New("read what was learnt: it has slots of another length")
	}
	f.Low.Values, f.Top.Values, f.Moved, f.Rolled, f.Pressure, f.Mode, f.LostSince = k.Low, k.Top, k.Moved, k.Rolled, k.Pressure, k.Mode, k.LostSince
	t.first, t.newest = k.First, k.Newest
	if k.Values != nil {
		f.Values = k.Values
	}
	if k.Targets != nil {
		t.targets = k.Targets
	}
	var err error
	t.vpa, err = vpa.Restore(k.VPA)
	return t, err
}
