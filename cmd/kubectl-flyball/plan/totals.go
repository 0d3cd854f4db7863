package plan

import (
	"slices"
	"time"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Totals are the savings of the policies. They are compared with a baseline without policies, in which every target
// always runs as its owner asks for. A count in the hands of an autoscaler saves and costs nothing.
type Totals struct {
	// Targets is the number of targets: the objects on which a policy acts. Changed is the number of targets with changes.
	Targets int `json:"targets"`
	Changed int `json:"changed"`
	// Uncounted is the number of changed targets without replicas, such as CronJobs. The sums do not include them.
	Uncounted int `json:"uncounted"`
	// ReplicaHours are the replica hours with the policies. ReplicaHoursSaved are the saved replica hours.
	ReplicaHours      float64 `json:"replicaHours"`
	ReplicaHoursSaved float64 `json:"replicaHoursSaved"`
	// CPUHoursSaved is the saved CPU requests, in core hours. MemoryGiBHoursSaved is the saved memory requests, in GiB
	// hours.
	CPUHoursSaved       float64 `json:"cpuHoursSaved"`
	MemoryGiBHoursSaved float64 `json:"memoryGiBHoursSaved"`
}

// Add adds the sums of other targets.
func (t *Totals) Add(o Totals) {
	t.Targets += o.Targets
	t.Changed += o.Changed
	t.Uncounted += o.Uncounted
	t.ReplicaHours += o.ReplicaHours
	t.ReplicaHoursSaved += o.ReplicaHoursSaved
	t.CPUHoursSaved += o.CPUHoursSaved
	t.MemoryGiBHoursSaved += o.MemoryGiBHoursSaved
}

// Timeline shows how much of a target runs over time.
type Timeline struct {
	Target string `json:"target"`
	Steps  []Step `json:"steps"`

	ref    workload.Ref
	totals Totals
	shares map[string]Totals
	to     time.Time
	// policies act on the target, in order.
	policies []string
}

// Ref returns the target.
func (t *Timeline) Ref() workload.Ref { return t.ref }

// Totals returns the savings of the target alone.
func (t *Timeline) Totals() Totals { return t.totals }

// Shares returns the savings of the target by policy, for each policy with a value in force at some time.
func (t *Timeline) Shares() map[string]Totals { return t.shares }

// Saved are replica hours saved in a span of time, by the state in which they are saved.
type Saved struct {
	// Asleep are the hours of targets of which nothing runs, and Reduced those of targets of which less runs. Other are the
	// hours in other states. They are negative while more runs than the owner asks for.
	Asleep, Reduced, Other float64
}

// Add adds the hours of other targets.
func (s *Saved) Add(o Saved) {
	s.Asleep += o.Asleep
	s.Reduced += o.Reduced
	s.Other += o.Other
}

// All returns the saved replica hours in all states.
func (s Saved) All() float64 { return s.Asleep + s.Reduced + s.Other }

// Saved returns the replica hours that policies save on the target between two instants.
func (t *Timeline) Saved(from, to time.Time) (sum Saved) {
	for i := range t.Steps {
		s, begin, end := &t.Steps[i], t.Steps[i].At, t.to
		if i+1 < len(t.Steps) {
			end = t.Steps[i+1].At
		}
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		if !begin.Before(end) || s.Replicas == nil {
			continue
		}
		hours := 0.0
		for _, saving := range s.saved {
			hours += end.Sub(begin).Hours() * float64(saving.Replicas)
		}
		switch {
		case s.Running <= 0:
			sum.Asleep += hours
		case s.Running < 1:
			sum.Reduced += hours
		default:
			sum.Other += hours
		}
	}
	return sum
}

// Step is the level of a target from an instant on.
type Step struct {
	At time.Time `json:"at"`
	// Running is the running fraction of the owner's size: 0 is asleep, 1 is everything.
	Running float64 `json:"running"`
	// Replicas is the number of replicas. It is absent if the kind has none.
	Replicas *int64 `json:"replicas,omitempty"`
	// ByUse is true while use decides, which is not known in advance: the target may be asleep or awake.
	ByUse bool `json:"byUse,omitempty"`
	// By are the policies whose values are in force from At on, in order. Since is the first transition that set one of
	// the values. JSON omits both, because the changes have them too.
	By    []string  `json:"-"`
	Since time.Time `json:"-"`

	// saved are the saved replicas of each policy.
	saved []adapter.Saving
	// written is true for a step that begins with a write.
	written bool
}

// changes reports whether the plan writes anything to the target.
func (t *Timeline) changes() bool {
	return slices.ContainsFunc(t.Steps, func(s Step) bool { return s.written })
}

// byUse reports whether use decides at any time.
func (t *Timeline) byUse() bool {
	return slices.ContainsFunc(t.Steps, func(s Step) bool { return s.ByUse })
}

// same reports whether two timelines show the same running amount at every instant.
func (t *Timeline) same(o *Timeline) bool {
	runs := func(steps []Step) []Step { // leaves out steps that change something else, such as a minimum
		return slices.CompactFunc(slices.Clone(steps), func(a, b Step) bool { return a.Running == b.Running && a.ByUse == b.ByUse })
	}
	return slices.EqualFunc(runs(t.Steps), runs(o.Steps), func(a, b Step) bool {
		return a.At.Equal(b.At) && a.Running == b.Running && a.ByUse == b.ByUse
	})
}

// ledger keeps the accounts of all listed targets.
type ledger struct {
	memory   *world.Memory
	options  Input
	accounts map[workload.Ref]*account
	// byUse is true if any policy decides by the use of its targets.
	byUse bool
}

// account is the account of a target.
type account struct {
	timeline Timeline
	counted  bool
	// cpu (in cores) and memory (in GiB) are the requests of one replica.
	cpu, memory float64
}

// newLedger opens an account for every listed object. by has the policies that act on each target.
func newLedger(memory *world.Memory, o Input, by map[workload.Ref][]string) *ledger {
	l := &ledger{memory: memory, options: o, accounts: map[workload.Ref]*account{}}
	memory.Policies(func(p *world.Policy) bool {
		l.byUse = l.byUse || p.Idle != nil
		return !l.byUse
	})
	memory.EachObject(func(ref workload.Ref) {
		obj := memory.Object(ref)
		if obj == nil || o.Keep != nil && !o.Keep(ref, obj) || decide.FollowsOwner(memory, obj) && len(obj.Ledger) == 0 {
			return
		}
		kind := memory.Kind(ref.GroupKind)
		a := &account{timeline: Timeline{Target: ref.String(), ref: ref, policies: by[ref]}}
		wanted := kind.Adapter.Observe(obj)
		a.counted = len(wanted.Components) > 0
		if len(wanted.Components) == 1 {
			if r, err := kind.Adapter.TemplateRequests(memory.Raw(ref)); err == nil && r != nil {
				a.cpu, a.memory = float64(r.MilliCPU)/1000, float64(r.MemoryBytes)/(1<<30)
			}
		}
		l.accounts[ref] = a
		l.begin(ref)
	})
	return l
}

func (l *ledger) keeps(ref workload.Ref) bool { return l.accounts[ref] != nil }

// begin records the level of a target at the beginning of the plan.
func (l *ledger) begin(ref workload.Ref) {
	l.accounts[ref].timeline.Steps = nil
	l.take(ref, l.step(ref, l.options.From))
}

// note records the level of a target from the instant of a write on.
func (l *ledger) note(ref workload.Ref, at time.Time) {
	step := l.step(ref, at)
	step.written = true
	l.take(ref, step)
}

// take adds a step, and the steps in which use decides until the next write. It replaces steps of the same instant and later ones.
func (l *ledger) take(ref workload.Ref, step Step) {
	steps := &l.accounts[ref].timeline.Steps
	for n := len(*steps); n > 1 && !(*steps)[n-1].At.Before(step.At); n-- {
		*steps = (*steps)[:n-1]
	}
	*steps = append(*steps, step)
	if !l.byUse {
		return
	}
	for at, first := step.At, true; !at.IsZero() && at.Before(l.options.To); first = false {
		v := decide.Target(l.memory, ref, at, nil)
		if v.Result.Patch != nil && !first {
			return
		}
		if last := &(*steps)[len(*steps)-1]; !first && last.ByUse != v.ByUse() {
			step.At, step.written = at, false
			*steps = append(*steps, step)
		}
		if last := &(*steps)[len(*steps)-1]; v.ByUse() {
			last.ByUse, last.saved = true, nil // sleep by use saves once it happens
		}
		if !v.Wake.After(at) {
			return
		}
		at = v.Wake
	}
}

// step returns the present level of a target.
func (l *ledger) step(ref workload.Ref, at time.Time) Step {
	obj, kind, counted := l.memory.Object(ref), l.memory.Kind(ref.GroupKind), l.accounts[ref].counted
	bare := *obj
	bare.Ledger = nil // without a ledger, Flyball's own values count as the current state
	now, own := kind.Adapter.Observe(&bare), kind.Adapter.Observe(obj)
	step := Step{At: at, Running: 1, saved: kind.Adapter.Savings(obj)}
	step.read(obj.Ledger)
	count, owner := replicas(&now), replicas(&own)
	if count == owner { // no policy has the count, so an autoscaler may
		count = decide.Governed(l.memory, ref, count)
		owner = count
	}
	switch {
	case now.Suspended:
		step.Running = 0
	case counted && owner > 0:
		step.Running = float64(count) / float64(owner)
	case counted:
		step.Running = 0
	}
	if counted {
		step.Replicas = &count
	}
	return step
}

// scaled records the new level of the target of a written autoscaler.
func (l *ledger) scaled(autoscaler workload.Ref, at time.Time) {
	governed, ok := l.memory.Kind(autoscaler.GroupKind).Adapter.Governs(l.memory.Object(autoscaler))
	if !ok {
		return
	}
	ref := l.memory.Referent(governed)
	a := l.accounts[ref]
	switch {
	case a == nil || !a.counted:
	case at.Before(l.options.From):
		l.begin(ref)
	default:
		if step := l.step(ref, at); *step.Replicas != *a.timeline.Steps[len(a.timeline.Steps)-1].Replicas {
			step.written = true
			l.take(ref, step)
		}
	}
}

// replicas returns the number of replicas of a target. A suspended target has none.
func replicas(o *workload.Observed) (count int64) {
	if o.Suspended {
		return 0
	}
	for _, c := range o.Components {
		count += c.Replicas
	}
	return count
}

// read sets By and Since of the step from the entries of a ledger.
func (s *Step) read(entries workload.Ledger) {
	for i := range entries {
		e := &entries[i]
		if !slices.Contains(s.By, e.By) {
			s.By = append(s.By, e.By)
		}
		if s.Since.IsZero() || e.Since.Before(s.Since) {
			s.Since = e.Since
		}
	}
	slices.Sort(s.By)
}

// close returns the timelines of all targets, with their sums.
func (l *ledger) close() []Timeline {
	var lines []Timeline
	for _, a := range l.accounts {
		lines = append(lines, a.close(l.options.To))
	}
	return lines
}

// close returns the timeline of the target. The timeline has the target's sums until the end of the plan.
func (a *account) close(to time.Time) Timeline {
	line := a.timeline
	line.to = to
	if len(line.Policies()) == 0 {
		return line
	}
	line.totals.Targets = 1
	if line.changes() {
		line.totals.Changed = 1
	}
	line.shares = map[string]Totals{}
	for i := range line.Steps {
		for _, by := range line.Steps[i].By {
			line.shares[by] = Totals{Targets: 1, Changed: line.totals.Changed}
		}
	}
	if !a.counted {
		line.totals.Uncounted = line.totals.Changed
		return line
	}
	for i, s := range line.Steps {
		end := to
		if i+1 < len(line.Steps) {
			end = line.Steps[i+1].At
		}
		hours := end.Sub(s.At).Hours()
		for _, saving := range s.saved {
			by, sum := saving.By.String(), Totals{}
			sum.save(hours*float64(saving.Replicas), a.cpu, a.memory)
			sum.Add(line.shares[by])
			line.shares[by] = sum
			line.totals.save(hours*float64(saving.Replicas), a.cpu, a.memory)
		}
		line.totals.ReplicaHours += hours * float64(*s.Replicas)
	}
	return line
}

// save adds replica hours, of replicas with the given requests.
func (t *Totals) save(hours, cpu, memory float64) {
	t.ReplicaHoursSaved += hours
	t.CPUHoursSaved += hours * cpu
	t.MemoryGiBHoursSaved += hours * memory
}
