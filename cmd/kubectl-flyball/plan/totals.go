package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Totals are the savings of the policies. The baseline has no policies: every target runs all the time as its owner
// asks for. Autoscalers are assumed to leave replicas unchanged.
type Totals struct {
	// Targets is the number of targets, and Changed the number of targets with changes.
	Targets int `json:"targets"`
	Changed int `json:"changed"`
	// Uncounted is the number of changed targets without replicas, such as CronJobs. The sums do not include them.
	Uncounted int `json:"uncounted"`
	// ReplicaHours are the replica hours with the policies. ReplicaHoursSaved are the saved replica hours.
	ReplicaHours      float64 `json:"replicaHours"`
	ReplicaHoursSaved float64 `json:"replicaHoursSaved"`
	// CPUHoursSaved are core hours of requests, and MemoryGiBHoursSaved GiB hours of requests.
	CPUHoursSaved       float64 `json:"cpuHoursSaved"`
	MemoryGiBHoursSaved float64 `json:"memoryGiBHoursSaved"`
}

// Timeline shows how much of a target runs over time.
type Timeline struct {
	Target string `json:"target"`
	Steps  []Step `json:"steps"`

	ref workload.Ref
}

// Step is the level from an instant on.
type Step struct {
	At time.Time `json:"at"`
	// Running is the running fraction of the owner's size: 0 is asleep, 1 is everything.
	Running float64 `json:"running"`
	// Replicas is the number of replicas. It is absent if the kind has none.
	Replicas *int64 `json:"replicas,omitempty"`
}

// changes reports whether anything is written of the target in this time.
func (t *Timeline) changes() bool { return len(t.Steps) > 1 }

// same reports whether as much runs of a target at each instant.
func (t *Timeline) same(o *Timeline) bool {
	runs := func(steps []Step) []Step { // without those that change something else, such as a minimum
		return slices.CompactFunc(slices.Clone(steps), func(a, b Step) bool { return a.Running == b.Running })
	}
	return slices.EqualFunc(runs(t.Steps), runs(o.Steps), func(a, b Step) bool { return a.At.Equal(b.At) && a.Running == b.Running })
}

// ledger keeps the accounts of all listed targets.
type ledger struct {
	memory   *world.Memory
	options  Options
	accounts map[workload.Ref]*account
}

// account is the account of one target.
type account struct {
	timeline Timeline
	counted  bool
	// owner is the owner's number of replicas. cpu (in cores) and memory (in GiB) are the requests of one replica.
	owner       int64
	cpu, memory float64
}

// newLedger opens an account for every listed target.
func newLedger(memory *world.Memory, o Options) *ledger {
	l := &ledger{memory: memory, options: o, accounts: map[workload.Ref]*account{}}
	memory.EachObject(func(ref workload.Ref) {
		obj := memory.Object(ref)
		if obj == nil || o.Keep != nil && !o.Keep(ref, obj) {
			return
		}
		kind := memory.Kind(ref.GroupKind)
		a := &account{timeline: Timeline{Target: ref.String(), ref: ref}}
		wanted := kind.Adapter.Observe(obj)
		for _, c := range wanted.Components {
			a.owner += c.Replicas
		}
		if wanted.Suspended {
			a.owner = 0
		}
		a.counted = len(wanted.Components) > 0
		if len(wanted.Components) == 1 {
			a.cpu, a.memory = requests(memory.Raw(ref), string(kind.Adapter.Pods().Template))
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
	l.note(ref, l.options.From)
}

// note records the level of a target from an instant on.
func (l *ledger) note(ref workload.Ref, at time.Time) {
	a := l.accounts[ref]
	obj := *l.memory.Object(ref)
	obj.Ledger = nil // without a ledger, Flyball's own values count as the current state
	now := l.memory.Kind(ref.GroupKind).Adapter.Observe(&obj)
	step := Step{At: at, Running: 1}
	var count int64
	for _, c := range now.Components {
		count += c.Replicas
	}
	switch {
	case now.Suspended:
		step.Running, count = 0, 0
	case a.counted && a.owner > 0:
		step.Running = float64(count) / float64(a.owner)
	case a.counted:
		step.Running = 0
	}
	if a.counted {
		step.Replicas = &count
	}
	if n := len(a.timeline.Steps); n > 0 && a.timeline.Steps[n-1].At.Equal(at) && n > 1 {
		a.timeline.Steps[n-1] = step // several writes at one instant
		return
	}
	a.timeline.Steps = append(a.timeline.Steps, step)
}

// close returns the sums, and the timelines of all targets.
func (l *ledger) close() (Totals, []Timeline) {
	t := Totals{Targets: len(l.accounts)}
	var lines []Timeline
	for _, a := range l.accounts {
		lines = append(lines, a.timeline)
		changes := a.timeline.changes()
		if changes {
			t.Changed++
		}
		if !a.counted {
			if changes {
				t.Uncounted++
			}
			continue
		}
		for i, s := range a.timeline.Steps {
			end := l.options.To
			if i+1 < len(a.timeline.Steps) {
				end = a.timeline.Steps[i+1].At
			}
			hours := end.Sub(s.At).Hours()
			saved := hours * float64(a.owner-*s.Replicas)
			t.ReplicaHours += hours * float64(*s.Replicas)
			t.ReplicaHoursSaved += saved
			t.CPUHoursSaved += saved * a.cpu
			t.MemoryGiBHoursSaved += saved * a.memory
		}
	}
	slices.SortFunc(lines, func(a, b Timeline) int { return a.ref.Compare(b.ref) })
	return t, lines
}

// requests returns the requests of one pod of a template, in cores and GiB.
func requests(raw []byte, template string) (cpu, memory float64) {
	at := strings.TrimPrefix(template, ".")
	if at == "" || strings.ContainsAny(at, "['") {
		return 0, 0
	}
	sum := func(name string) float64 {
		total := 0.0
		for _, container := range gjson.GetBytes(raw, at+".spec.containers").Array() {
			if q, ok := workload.ParseQuantity(container.Get("resources.requests." + name).String()); ok {
				total += q.AsApproximateFloat64()
			}
		}
		return total
	}
	return sum("cpu"), sum("memory") / (1 << 30)
}
