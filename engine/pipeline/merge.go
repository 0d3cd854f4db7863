package pipeline

import (
	"cmp"
	"maps"

	"flyball.dev/flyball/engine/workload"
)

// Merge returns one plan for all intents, with the conflicts. Mandatory claims (suspend of a freeze) beat all others,
// Overrides beat every priority, the higher priority wins, and at equal priority the larger capacity wins. The names
// of the policies break a tie. The result depends neither on the order of the intents nor on repetition (Agreement is a
// semilattice).
func Merge(intents ...workload.Intent) (workload.Plan, []Conflict) {
	var a Agreement
	for i := range intents {
		a = a.Add(&intents[i])
	}
	plan := a.Plan()
	a.share(&plan, intents)
	return plan, conflicts(plan, a, intents)
}

// Agreement is the best claim so far of each facet. Add is commutative, associative and idempotent, because each facet
// keeps the greatest claim under a total order. Plan decides between sleep and awake at the end.
type Agreement struct {
	awake                            *workload.Intent
	sleep, exactly                   *workload.Intent
	once                             *workload.Intent
	sleepMin, sleepMax               *workload.Intent
	setMin, setMax                   *workload.Intent
	sleepHold, setHold               *workload.Intent
	sleepAnnotations, setAnnotations map[string]*workload.Intent
	amounts                          map[workload.Amount]*workload.Intent
	deletionCosts                    *workload.Intent
	keep, orphan                     map[workload.Policy]bool
}

// Add returns the agreement with one more intent; the old agreement is unchanged. The intent is referenced and must not
// change afterwards.
func (a Agreement) Add(in *workload.Intent) Agreement {
	switch in.Class {
	case workload.ClassKeep:
		a.keep = with(a.keep, in.By)
	case workload.ClassOrphan:
		a.orphan = with(a.orphan, in.By)
	case workload.ClassAwake:
		a.awake = best(a.awake, in, byRank)
	case workload.ClassSleep:
		a.sleep = bestIf(in.Size != nil, a.sleep, in, bySize)
		a.sleepMin = bestIf(in.Min != nil, a.sleepMin, in, byMin)
		a.sleepMax = bestIf(in.Max != nil, a.sleepMax, in, byMax)
		a.sleepHold = bestIf(in.Hold, a.sleepHold, in, byRank)
		a.sleepAnnotations = withAnnotations(a.sleepAnnotations, in)
	default:
		a.exactly = bestIf(in.Size != nil && !in.Once, a.exactly, in, bySize)
		a.once = bestIf(in.Size != nil && in.Once, a.once, in, bySize)
		a.setMin = bestIf(in.Min != nil, a.setMin, in, byMin)
		a.setMax = bestIf(in.Max != nil, a.setMax, in, byMax)
		a.setHold = bestIf(in.Hold, a.setHold, in, byRank)
		a.amounts = withAmounts(a.amounts, in)
		a.deletionCosts = bestIf(in.DeletionCosts != "", a.deletionCosts, in, byRank)
		a.setAnnotations = withAnnotations(a.setAnnotations, in)
	}
	return a
}

// Plan returns the merged plan. A claim to sleep counts only if no claim to stay awake has the same or a
// higher priority. The remaining claims compete with the claims that set values. A size set once counts only
// without a lasting size.
func (a Agreement) Plan() workload.Plan {
	p := workload.Plan{Keep: a.keep, Orphan: a.orphan}
	if in := a.size(); in != nil {
		p.Size = claim(in, *in.Size)
		if in == a.once {
			p.Size.Once, p.Size.Resumed = true, in.Resumed
		}
	}
	if in := a.min(); in != nil {
		p.Min = claim(in, *in.Min)
	}
	if in := a.max(); in != nil {
		p.Max = claim(in, *in.Max)
	}
	if in := winner(a.heard(a.sleepHold), a.setHold, byRank); in != nil {
		p.Hold = claim(in, true)
	}
	for key, in := range a.amounts {
		if p.Amounts == nil {
			p.Amounts = map[workload.Amount]workload.Claim[int64]{}
		}
		c := claim(in, in.Amounts[key])
		c.Limits = in.Limits
		p.Amounts[key] = *c
	}
	if in := a.deletionCosts; in != nil {
		p.DeletionCosts = claim(in, in.DeletionCosts)
	}
	for key, in := range a.setAnnotations {
		p.Annotations = annotate(p.Annotations, key, in)
	}
	for key, in := range a.sleepAnnotations {
		if in = a.heard(in); in != nil {
			p.Annotations = annotate(p.Annotations, key, a.annotation(key))
		}
	}
	if p.Min != nil && p.Max != nil && p.Min.Value > p.Max.Value {
		p.Max = &workload.Claim[int64]{Value: p.Min.Value, By: p.Min.By, Since: p.Min.Since, Enforce: p.Min.Enforce}
	}
	return p
}

// size returns the winning intent for the size; nil: none.
func (a Agreement) size() *workload.Intent {
	if in := winner(a.heard(a.sleep), a.exactly, bySize); in != nil {
		return in
	}
	return a.once
}

func (a Agreement) min() *workload.Intent { return winner(a.heard(a.sleepMin), a.setMin, byMin) }

func (a Agreement) max() *workload.Intent { return winner(a.heard(a.sleepMax), a.setMax, byMax) }

// annotation returns the winning intent for an annotation.
func (a Agreement) annotation(key string) *workload.Intent {
	return winner(a.heard(a.sleepAnnotations[key]), a.setAnnotations[key], byAnnotation(key))
}

// heard returns a claim to sleep unless the best claim to stay awake overrules it.
func (a Agreement) heard(in *workload.Intent) *workload.Intent {
	if in == nil || overruled(in, a.awake) {
		return nil
	}
	return in
}

// IsOverruled reports whether a claim to stay awake among the intents overrules a claim to sleep.
func IsOverruled(in *workload.Intent, intents []workload.Intent) bool {
	var a Agreement
	for i := range intents {
		a = a.Add(&intents[i])
	}
	return overruled(in, a.awake)
}

func overruled(in, awake *workload.Intent) bool {
	return awake != nil && rank(awake) >= rank(in)
}

// Ranks above every priority, which has 32 bits.
const (
	overrideRank  int64 = 1 << 40
	mandatoryRank int64 = 1 << 41
)

// rank orders mandatory claims above overrides, and both above every priority.
func rank(in *workload.Intent) int64 {
	switch {
	case in.Mandatory:
		return mandatoryRank
	case in.Override:
		return overrideRank
	default:
		return int64(in.Priority)
	}
}

type order func(a, b *workload.Intent) int

func byRank(a, b *workload.Intent) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), byIdentity(a, b))
}

func bySize(a, b *workload.Intent) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)),
		cmp.Compare(a.Size.Capacity, b.Size.Capacity),
		// At equal capacity the suspending claim loses: it is the stronger claim to sleep.
		cmp.Compare(a.Size.Mode, b.Size.Mode),
		cmp.Compare(a.Size.Replicas, b.Size.Replicas), cmp.Compare(a.Size.Percent, b.Size.Percent),
		byIdentity(a, b))
}

func byMin(a, b *workload.Intent) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(*a.Min, *b.Min), byIdentity(a, b))
}

func byMax(a, b *workload.Intent) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(*a.Max, *b.Max), byIdentity(a, b))
}

func byAmount(key workload.Amount) order {
	return func(a, b *workload.Intent) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(key.Capacity(a.Amounts[key]), key.Capacity(b.Amounts[key])), byIdentity(a, b))
	}
}

func byAnnotation(key string) order {
	return func(a, b *workload.Intent) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Annotations[key], b.Annotations[key]), byIdentity(a, b))
	}
}

// byIdentity makes the order total. The name that sorts first wins, so that readers can predict the winner. One policy
// may have two claims, from overlapping windows. The claim with the older transition wins. At the same transition, a
// claim that enforces wins over a claim that does not. At last, a claim that is not resumed wins.
func byIdentity(a, b *workload.Intent) int {
	return cmp.Or(b.By.Compare(a.By), b.Since.Compare(a.Since), cmp.Compare(bit(a.Enforce), bit(b.Enforce)),
		cmp.Compare(bit(b.Resumed), bit(a.Resumed)))
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}

func best(old, in *workload.Intent, less order) *workload.Intent {
	if old == nil || less(old, in) < 0 {
		return in
	}
	return old
}

func bestIf(asks bool, old, in *workload.Intent, less order) *workload.Intent {
	if !asks {
		return old
	}
	return best(old, in, less)
}

func winner(sleep, set *workload.Intent, less order) *workload.Intent {
	if sleep == nil {
		return set
	}
	if set == nil {
		return sleep
	}
	return best(sleep, set, less)
}

func with(set map[workload.Policy]bool, p workload.Policy) map[workload.Policy]bool {
	if set[p] {
		return set
	}
	grown := maps.Clone(set)
	if grown == nil {
		grown = map[workload.Policy]bool{}
	}
	grown[p] = true
	return grown
}

func withAnnotations(old map[string]*workload.Intent, in *workload.Intent) map[string]*workload.Intent {
	if len(in.Annotations) == 0 {
		return old
	}
	grown := maps.Clone(old)
	if grown == nil {
		grown = map[string]*workload.Intent{}
	}
	for key := range in.Annotations {
		grown[key] = best(grown[key], in, byAnnotation(key))
	}
	return grown
}

func withAmounts(old map[workload.Amount]*workload.Intent, in *workload.Intent) map[workload.Amount]*workload.Intent {
	if len(in.Amounts) == 0 {
		return old
	}
	grown := maps.Clone(old)
	if grown == nil {
		grown = map[workload.Amount]*workload.Intent{}
	}
	for key := range in.Amounts {
		grown[key] = best(grown[key], in, byAmount(key))
	}
	return grown
}

func annotate(m map[string]workload.Claim[string], key string, in *workload.Intent) map[string]workload.Claim[string] {
	if m == nil {
		m = map[string]workload.Claim[string]{}
	}
	m[key] = *claim(in, in.Annotations[key])
	return m
}

func claim[T any](in *workload.Intent, value T) *workload.Claim[T] {
	return &workload.Claim[T]{Value: value, By: in.By, Since: in.Since, Enforce: in.Enforce}
}
