package tortoise

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/mercari"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// maxKept is the maximum size of a target's checkpoint in bytes.
const maxKept = 64 << 10

// keptVersion is the version of the checkpoint's format. A checkpoint of another version is refused, and the history
// begins anew.
const keptVersion = 2

// kept is the content of a checkpoint.
type kept struct {
	Version int
	Memory  memory
	State   tune.Progress
	Usage   []byte
	// Original is the learnt state if the profile is Tortoise. State and Usage are then empty. Nil: another profile.
	Original *mercari.Kept `json:",omitempty"`
}

// asked is the last advice in the form in which a checkpoint stores it.
type asked struct {
	Amounts, Targets []amount
	Min, Max         *int64
}

// amount is a value of an advice.
type amount struct {
	workload.Amount
	Value int64
}

func listed(m map[workload.Amount]int64) []amount {
	var all []amount
	for _, key := range workload.SortedAmounts(m) {
		all = append(all, amount{key, m[key]})
	}
	return all
}

func mapped(all []amount) map[workload.Amount]int64 {
	m := map[workload.Amount]int64{}
	for _, a := range all {
		m[a.Amount] = a.Value
	}
	return m
}

// last returns the last advice.
func (m *memory) last() *workload.Advice {
	return &workload.Advice{Amounts: mapped(m.Asked.Amounts), Min: m.Asked.Min, Max: m.Asked.Max, Targets: mapped(m.Asked.Targets)}
}

// Keep implements policy.Learner.
func (m *learner) Keep() []byte { return m.tuner.pack(m.memory) }

func pack(k kept) []byte {
	text, err := json.Marshal(k)
	if err != nil {
		return nil // the learnt state has an infinite or invalid number, so none of it is kept
	}
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestCompression) // no error, because the level exists
	_, _ = w.Write(text)                                 // a write to memory does not fail
	_ = w.Close()
	return out.Bytes()
}

// unpack decodes a checkpoint.
func unpack(from []byte) (k kept, err error) {
	const most = 16 << 20 // no manager has written more than this
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(from)), most))
	if err != nil {
		return k, fmt.Errorf("unpack the learnt state: %w", err)
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return k, fmt.Errorf("read the learnt state: %w", err)
	}
	if k.Version != keptVersion {
		return k, fmt.Errorf("the learnt state has the form %d, and %d is known", k.Version, keptVersion)
	}
	return k, nil
}

// newLearner returns a learner with the state of a checkpoint, or an empty learner.
func newLearner(r *rules, from []byte) (*learner, error) {
	m := &learner{rules: r, tuner: newTuner(r)}
	if len(from) == 0 {
		return m, nil
	}
	k, err := unpack(from)
	if err != nil {
		return nil, err
	}
	if r.formulas != (k.Original != nil) {
		return m, nil // the checkpoint is of another profile
	}
	if m.tuner, err = restored(k); err != nil {
		return nil, fmt.Errorf("read the learnt state: %w", err)
	}
	if !k.isSound() {
		return nil, errors.New("read the learnt state: its numbers are too large")
	}
	m.memory = k.Memory
	m.bound()
	maps.DeleteFunc(m.Reasons, func(_, text string) bool { return len(text) > maxReason })
	m.forgetReasons(nil)
	return m, nil
}

// isSound reports whether all numbers are within possible limits. A checkpoint with other numbers is refused: an account
// that may only write checkpoints must not be able to control targets.
func (k *kept) isSound() bool {
	set, s := k.Memory.Setting, k.State
	sound := set.Min >= 0 && set.Min <= mostReplicas && set.Max >= 0 && set.Max <= mostReplicas && set.Utilisation >= 0 &&
		set.Utilisation <= maxUtilisation &&
		s.Aim.IsSound() && s.Awaited >= 0 && s.Awaited <= mostReplicas && s.Loss >= 0 && s.Loss <= 100 &&
		(s.Phase == "" || slices.Contains(tune.Phases, s.Phase)) && (k.Original == nil || k.Original.IsSound())
	for _, d := range s.Starts {
		sound = sound && d >= 0 && d <= 24*time.Hour
	}
	all := slices.Collect(maps.Values(set.Requests))
	for _, r := range k.Memory.Refused {
		all = slices.Concat(all, slices.Collect(maps.Values(r.Tried)), slices.Collect(maps.Values(r.Back)))
		sound = sound && len(r.Why) <= maxReason
	}
	sound = sound && len(k.Memory.Refused) <= mostRefused
	for _, r := range slices.Concat(all, slices.Collect(maps.Values(k.Memory.Proven)), slices.Collect(maps.Values(k.Memory.Limited))) {
		sound = sound && r.CPU >= 0 && r.CPU <= most && r.Memory >= 0 && r.Memory <= most
	}
	return sound
}

// maxReason is the maximum size of a reason in bytes.
const maxReason = 4 << 10

// maxUtilisation is the largest accepted target utilisation in percent. Owners may set a target above 100 % of the
// request.
const maxUtilisation = 1_000_000

// bound limits the recommended numbers to the bounds in the spec, or to the owner's numbers.
func (m *learner) bound() {
	for name, r := range m.Setting.Requests {
		l, own := m.rules.of(name).limits, m.Own[name]
		m.Setting.Requests[name] = tune.Requests{
			CPU:    min(max(r.CPU, min(l.Min.CPU, own.CPU)), max(l.Max.CPU, own.CPU)),
			Memory: min(max(r.Memory, min(l.Min.Memory, own.Memory)), max(l.Max.Memory, own.Memory)),
		}
	}
}

// Precedence implements policy.Tuner.
func (t *tortoise) Precedence() int32 { return t.rules.priority }

// Mode implements policy.Tuner.
func (t *tortoise) Mode() string { return string(cmp.Or(t.rules.mode, v1alpha1.TortoiseOff)) }

// Source implements policy.Tuner.
func (t *tortoise) Source() policy.Source { return t.rules.source }

// MaxDisruption implements policy.Tuner.
func (t *tortoise) MaxDisruption() int { return t.rules.maxDisruption }

// ActsOnTargets implements policy.Tuner.
func (t *tortoise) ActsOnTargets() bool { return !isOff(t.rules.mode) }

// NewLearner implements policy.Tuner.
func (t *tortoise) NewLearner(from []byte) (policy.Learner, error) { return newLearner(&t.rules, from) }

// Adopt implements policy.Tuner. The profile Tortoise and the other profiles cannot use the learnt state of each other.
// After such a change of the profile, the learner begins anew.
func (t *tortoise) Adopt(old policy.Learner) policy.Learner {
	m, ok := old.(*learner)
	if !ok {
		return old
	}
	if m.rules.formulas != t.rules.formulas {
		return &learner{rules: &t.rules, tuner: newTuner(&t.rules)}
	}
	m.rules, m.Refused = &t.rules, nil // an edit of the policy allows another try
	return m
}
