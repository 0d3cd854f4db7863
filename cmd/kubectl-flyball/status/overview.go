package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Overview lists every policy at an instant.
type Overview struct {
	At       time.Time `json:"at"`
	Policies []Policy  `json:"policies"`

	zone *time.Location
	// elsewhere is the number of Cluster policies for other namespaces alone.
	elsewhere int
}

// Policy is one line of the list.
type Policy struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	State     string `json:"state"`
	// Since is the start of the state. It is absent if the state has no start. Next is the end of the state. It is absent
	// if the state never ends.
	Since time.Time `json:"since,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	// Targets are the counted targets. They are absent for exceptions, and until the manager counts them first.
	Targets *v1alpha1.TargetCounts `json:"targets,omitempty"`
	// Problem describes the problem of the policy, or is empty if there is none.
	Problem  string                   `json:"problem,omitempty"`
	Failures []v1alpha1.TargetFailure `json:"failures,omitempty"`
	// Message explains the state.
	Message string `json:"message,omitempty"`
}

// Input configures an overview.
type Input struct {
	At   time.Time
	Zone *time.Location
	// Live is true if a manager works on the policies and writes the states of targets into their statuses.
	Live bool
	// Keep reports whether a policy with the given labels is listed.
	Keep func(labels map[string]string) bool
	// Namespace excludes Cluster policies that have no effect on this namespace. If it is empty, no policy is excluded.
	Namespace string
	// Judged has the number of objects that each freeze or maintenance window judges, where the number is known. If it is
	// nil and Live is false, the objects of the world are counted.
	Judged map[workload.Policy]int32
	// Unread returns the reason why a policy that may be valid could not be read. If Unread is nil or returns "", such a
	// policy is invalid.
	Unread func(*world.Policy) string
}

// Of returns the overview of a world.
func Of(w *world.Memory, o Input) Overview {
	v := Overview{At: o.At, Policies: []Policy{}, zone: o.Zone}
	decided := verdicts{survey: decide.NewSurvey(w, o.At), counters: map[workload.Ref]func(*v1alpha1.TargetCounts) *int32{}}
	if o.Judged == nil && !o.Live {
		o.Judged = CountJudged(w, func(*world.Policy) bool { return true })
	}
	w.Policies(func(p *world.Policy) bool {
		switch {
		case o.Keep != nil && !o.Keep(p.Object.GetLabels()):
		case reaches(w, p, o.Namespace):
			v.Policies = append(v.Policies, of(w, p, o, decided))
		default:
			v.elsewhere++
		}
		return true
	})
	slices.SortFunc(v.Policies, func(a, b Policy) int { return strings.Compare(a.order(), b.order()) })
	return v
}

// reaches reports whether a policy may apply to a namespace. A policy that cannot be read may apply to every namespace.
func reaches(w *world.Memory, p *world.Policy, namespace string) bool {
	if namespace == "" || !p.Kind.ClusterScoped || p.IsBroken() {
		return true
	}
	labels := w.Namespace(namespace).Labels
	if e := freeze.ExceptionOf(p.Policy.Policy); e != nil {
		return e.SelectsIn(namespace, labels)
	}
	return p.Selection().MatchesNamespace(namespace, labels) || w.LedgersOf(p.ID) > 0
}

func (p Policy) order() string { return p.Kind + "\x00" + p.Namespace + "\x00" + p.Name }

// of returns the line of one policy. It takes the policy's name from the object, because an exception that cannot be
// read has no ID.
func of(w *world.Memory, p *world.Policy, o Input, decided verdicts) Policy {
	row := Policy{Kind: p.Kind.Name, Namespace: p.Object.GetNamespace(), Name: p.Object.GetName()}
	if e := freeze.ExceptionOf(p.Policy.Policy); e != nil {
		row.State, row.Next = e.State(o.At)
		return row
	}
	if p.IsBroken() {
		row.State, row.Problem = "Invalid", p.Invalid.ToAggregate().Error()
		if why := o.unread(p); why != "" {
			row.State, row.Problem = "Unknown", why
		}
		return row
	}
	st := p.State(o.At)
	row.State, row.Since, row.Next, row.Message = st.Name, st.Since, st.Next, st.Message
	if p.Deleting {
		row.State = "Restoring"
	}
	judges := p.Denies()
	if o.Live && p.Kind.ActsOnTargets() {
		row.read(p.Kind.Status(p.Object), p.Object.GetGeneration(), IsNew(p.Object, o.At))
		if judges {
			row.Targets = judged(row.Targets, o.Judged, p.ID)
		}
		return row
	}
	row.Targets = decided.count(w, p)
	if judges {
		row.Targets = judged(row.Targets, o.Judged, p.ID)
	}
	if row.Targets != nil && row.Targets.Total == 0 && p.Template == nil {
		row.Problem = "it selects nothing"
	}
	return row
}

// CountJudged returns the number of objects that each freeze and each maintenance window judges. It leaves out policies
// for which the function counts returns false.
func CountJudged(w *world.Memory, counts func(*world.Policy) bool) map[workload.Policy]int32 {
	all := map[workload.Policy]int32{}
	w.Policies(func(p *world.Policy) bool {
		if p.Denies() && !p.IsBroken() && counts(p) {
			all[p.ID] = 0
			EachJudged(w, p, func(workload.Ref) { all[p.ID]++ })
		}
		return true
	})
	return all
}

// judged returns the counts of a freeze. Total is the number of objects that it judges. The counts by state are the
// targets that it suspends. judged returns nil if the number of judged objects is not known.
func judged(acted *v1alpha1.TargetCounts, counted map[workload.Policy]int32, id workload.Policy) *v1alpha1.TargetCounts {
	total, known := counted[id]
	if !known {
		return nil
	}
	counts := v1alpha1.TargetCounts{}
	if acted != nil {
		counts = *acted
	}
	counts.Total = total
	return &counts
}

func (o Input) unread(p *world.Policy) string {
	if o.Unread == nil {
		return ""
	}
	return o.Unread(p)
}

// lookedAtWithin is the time after an edit of an object in which a manager looks at it.
const lookedAtWithin = 15 * time.Second

// IsNew reports whether an object, or the last edit of it, is so new that a manager may not have looked at it yet.
func IsNew(obj metav1.Object, now time.Time) bool {
	edited := obj.GetCreationTimestamp().Time
	for _, writer := range obj.GetManagedFields() {
		if writer.Subresource == "" && writer.Time != nil && writer.Time.After(edited) {
			edited = writer.Time.Time
		}
	}
	return now.Before(edited.Add(lookedAtWithin))
}

// read sets the state of the line from the status that the manager writes. isNew is true if there may be none of the last edit yet.
func (p *Policy) read(st *v1alpha1.PolicyStatus, generation int64, isNew bool) {
	ready := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil && isNew:
		return
	case ready == nil:
		p.Problem = "the manager has not looked at it: is it running?"
		return
	case st.ObservedGeneration < generation && !isNew:
		p.Problem = "the manager has not seen the latest edit yet"
	case st.ObservedGeneration == generation && ready.Status != metav1.ConditionTrue:
		p.Problem = ready.Message
	}
	p.Targets, p.Failures = st.Targets, st.Failures
	if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionSelecting); c != nil && c.Status == metav1.ConditionFalse &&
		p.Problem == "" {
		p.Problem = "it selects nothing: " + c.Message
	}
	for _, name := range []string{v1alpha1.ConditionContested, v1alpha1.ConditionConflicting} {
		if c := meta.FindStatusCondition(st.Conditions, name); c != nil && c.Status == metav1.ConditionTrue && p.Problem == "" {
			p.Problem = name + ": " + c.Message
		}
	}
}

// verdicts caches, for each target, the function that returns the target's counter, because several policies may select
// the same target.
type verdicts struct {
	survey   *decide.Survey
	counters map[workload.Ref]func(*v1alpha1.TargetCounts) *int32
}

// count decides every target of a policy and counts the results.
func (d verdicts) count(w *world.Memory, p *world.Policy) *v1alpha1.TargetCounts {
	counts := &v1alpha1.TargetCounts{}
	seen := map[workload.Ref]bool{}
	w.EachTarget(p, func(ref workload.Ref) {
		if seen[ref] {
			return
		}
		seen[ref] = true
		counts.Total++
		if d.counters[ref] == nil {
			v := d.survey.Target(ref)
			d.counters[ref] = counterOf(&v)
		}
		*d.counters[ref](counts)++
	})
	return counts
}

// counterOf returns a function that returns the counter to which a target with the verdict belongs.
func counterOf(v *decide.Verdict) func(*v1alpha1.TargetCounts) *int32 {
	switch {
	case v.Err != nil:
		return func(c *v1alpha1.TargetCounts) *int32 { return &c.Failed }
	case slices.ContainsFunc(v.Opinions, func(o decide.Opinion) bool { return o.Alone != "" }):
		return func(c *v1alpha1.TargetCounts) *int32 { return &c.Unable }
	case v.Result.Patch != nil:
		return func(c *v1alpha1.TargetCounts) *int32 { return &c.Pending }
	case v.Result.State == workload.StateAsleep:
		return func(c *v1alpha1.TargetCounts) *int32 { return &c.Asleep }
	case v.Result.State == workload.StateFallingAsleep:
		return func(c *v1alpha1.TargetCounts) *int32 { return &c.FallingAsleep }
	case v.Result.State == workload.StateAlreadyAsleep:
		return func(c *v1alpha1.TargetCounts) *int32 { return &c.AlreadyAsleep }
	case v.Result.State == workload.StateOverridden:
		return func(c *v1alpha1.TargetCounts) *int32 { return &c.Overridden }
	case v.Result.State == workload.StateUnable:
		return func(c *v1alpha1.TargetCounts) *int32 { return &c.Unable }
	default:
		return func(c *v1alpha1.TargetCounts) *int32 { return &c.Awake }
	}
}

// Why returns the reason for the state, without the state, its begin and its end.
func (p Policy) Why() string { return printer.Beyond(p.Message, p.State, p.Since, p.Next) }

// Names implements printer.Finding.
func (v Overview) Names() []string {
	names := make([]string, len(v.Policies))
	for i, p := range v.Policies {
		names[i] = strings.ToLower(p.Kind) + ".flyball.dev/" + p.Name
	}
	return names
}

// Text implements printer.Finding.
func (v Overview) Text(w *printer.Writer) {
	switch {
	case len(v.Policies) > 0:
	case v.elsewhere > 0:
		w.Line("No policy is for this namespace. Cluster policies for others: %d (see -A).", v.elsewhere)
	default:
		w.Line("There are no policies here.")
	}
	rows := make([][]printer.Cell, len(v.Policies))
	for i, p := range v.Policies {
		rows[i] = v.row(p, w.Wide)
	}
	heads := []string{"POLICY", "STATE", "SINCE", "NEXT", "TARGETS", "PROBLEM"}
	if w.Wide {
		heads = append(heads, "WHY")
	}
	if len(rows) > 0 {
		w.Grid("", heads, rows)
	}
	for _, p := range v.Policies {
		for _, f := range p.Failures {
			w.Line("%s", w.Styled(fmt.Sprintf("%s: %s %s: %s", p.id(), f.Kind, strings.TrimPrefix(f.Namespace+"/"+f.Name, "/"), f.Message),
				printer.Bad))
		}
	}
}

func (p Policy) id() string {
	return workload.Policy{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}.String()
}

func (v Overview) row(p Policy, wide bool) []printer.Cell {
	since, next, problem := "", "never", printer.Cell{Text: p.Problem, Style: printer.Bad}
	if !p.Since.IsZero() {
		since = printer.InstantText(p.Since, v.zone)
	}
	if !p.Next.IsZero() {
		next = printer.InstantText(p.Next, v.zone)
	}
	row := append(printer.Row(p.id(), p.State, since, next, Counts(p.Targets)), problem)
	if wide {
		row = append(row, printer.Cell{Text: p.Why()})
	}
	return row
}

// Counts formats the number of targets, in total and per state.
func Counts(n *v1alpha1.TargetCounts) string {
	if n == nil {
		return "-"
	}
	var parts []string
	for _, c := range []struct {
		n    int32
		word string
	}{{n.Asleep, "asleep"}, {n.FallingAsleep, "falling asleep"}, {n.Awake, "awake"}, {n.AlreadyAsleep, "already asleep"},
		{n.Pending, "pending"}, {n.Overridden, "overridden"}, {n.Failed, "failed"}, {n.Unable, "unable"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprint(n.Total)
	}
	if all := strings.Join(parts, ", "); len(parts) == 1 && strings.HasPrefix(all, fmt.Sprintf("%d ", n.Total)) {
		return all
	}
	return fmt.Sprintf("%d: %s", n.Total, strings.Join(parts, ", "))
}
