// Package doctor checks an installation: adapters, policies, ledgers, the webhook, and other tools with writes to the
// same fields. A check without the necessary rights is reported as not checked, and counts neither as good nor as bad.
package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/status"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Outcome is the result of a check.
type Outcome string

// States of a check.
const (
	OK         Outcome = "ok"
	Problem    Outcome = "problem"
	NotChecked Outcome = "not checked"
)

// Check is a check with its result.
type Check struct {
	Name    string  `json:"name"`
	Outcome Outcome `json:"state"`
	// Details describe the findings. For a problem they also say how to solve it.
	Details []string `json:"details,omitempty"`
}

// Checkup is a list of checks.
type Checkup struct {
	Checks []Check `json:"checks"`
}

// Healthy reports whether no check found a problem.
func (c *Checkup) Healthy() bool {
	return !slices.ContainsFunc(c.Checks, func(k Check) bool { return k.Outcome == Problem })
}

// Add adds a check. The check is a problem if it has findings. Without findings it is OK, with the text well as its
// detail.
func (c *Checkup) Add(name, well string, findings []string) {
	if len(findings) > 0 {
		c.Checks = append(c.Checks, Check{name, Problem, findings})
		return
	}
	c.Checks = append(c.Checks, Check{name, OK, []string{well}})
}

// Skip adds a check that was not possible, with the reason.
func (c *Checkup) Skip(name, why string) {
	c.Checks = append(c.Checks, Check{name, NotChecked, []string{why}})
}

// Input describes a world. Live is true if a manager works on the world.
type Input struct {
	Live bool
	// Namespace is the only namespace of the world. It is empty for all namespaces.
	Namespace string
	// Now is the instant from which Flyball's next writes are simulated.
	Now time.Time
	// Tools holds the objects of GitOps tools in the cluster, in addition to those in the world.
	Tools GitOps
}

// Of checks a world and returns the results.
func Of(w *source.World, o Input) (*Checkup, error) {
	c := &Checkup{}
	if o.Live && o.Namespace != "" {
		c.Add("namespaces", "only "+o.Namespace+" is looked at; -A looks at all", nil)
	}
	if !w.DryRunAt.IsZero() {
		c.Add("dry run", "the manager runs with --dry-run: it writes nothing, and all answers say what would be", nil)
	}
	if text := w.Unseen.Note(); text != "" {
		c.Skip("rights", text)
	}
	if w.Unseen.HidesAdapters() {
		c.Skip("adapters", "you may not read those of the cluster")
	} else {
		c.adapters(w, o)
	}
	memory, err := w.Memory() // it adds notes about policies
	if err != nil {
		return nil, err
	}
	c.policies(w, memory, o)
	c.selections(memory, o.Namespace == "")
	if err := c.controllers(memory); err != nil {
		return nil, err
	}
	c.ledgers(memory, w.Unseen)
	c.rivals(w)
	c.firstNight(w, memory)
	o.Tools.Appliers = slices.Concat(w.Objects, o.Tools.Appliers)
	return c, c.gitops(memory, o.Tools, o.Now)
}

func (c *Checkup) adapters(w *source.World, o Input) {
	findings := slices.Clone(w.LeftAside)
	for _, a := range w.Adapters {
		if slices.Contains(w.Absent, schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}) {
			continue // the adapter waits until its kind exists, which is no problem
		}
		why := w.Blocked[a.Name]
		if o.Live && why == "" && len(a.Status.Conditions) == 0 && !status.IsNew(a, o.Now) {
			why = fmt.Sprintf("the manager has not looked at the adapter %s: is it running?", a.Name)
		}
		if !a.DeletionTimestamp.IsZero() {
			why = deletionOf(a, w.Blocked[a.Name])
		}
		if why != "" {
			findings = append(findings, why)
		}
	}
	if !o.Live {
		findings = nil // files have no status from a manager
	}
	c.Add("adapters", fmt.Sprintf("%s, all fit for use; %d of kinds that are not installed", workload.Count(len(w.Adapters), "adapter"),
		len(w.Absent)), findings)
}

// deletionOf says why an adapter that is being deleted still exists: the reason that blocks it, or the state that the manager
// tells. Without both no manager may run, and the text has the command that lets the adapter go.
func deletionOf(a *v1alpha1.Adapter, blocked string) string {
	if blocked != "" {
		return fmt.Sprintf("%s. The adapter is being deleted and waits until its objects are restored", strings.TrimRight(blocked, ".\n"))
	}
	if ready := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Reason == "Restoring" {
		return fmt.Sprintf("the adapter %s is being deleted: %s", a.Name, ready.Message)
	}
	return fmt.Sprintf("the adapter %[1]s is being deleted and waits until the manager has restored the objects of its kind. If an "+
		"installation without a manager has left it behind, let it go and apply it again, the originals stay on the objects: kubectl "+
		"patch adapters.flyball.dev %[1]s --type=merge --patch='{\"metadata\":{\"finalizers\":null}}'", a.Name)
}

func (c *Checkup) policies(w *source.World, memory *world.Memory, o Input) {
	var findings []string
	n := 0
	memory.Policies(func(p *world.Policy) bool {
		n++
		id := workload.Policy{Kind: p.Kind.Name, Namespace: p.Object.GetNamespace(), Name: p.Object.GetName()}
		if p.IsBroken() {
			findings = append(findings, fmt.Sprintf("%s cannot be read: %v", id, p.Invalid.ToAggregate()))
		}
		if !w.HidesCalendarsOf(p) {
			for _, text := range memory.LostWarnings(p.Policy.Policy, p.Calendars) {
				findings = append(findings, fmt.Sprintf("%s: %s", id, text))
			}
		}
		st := p.Kind.Status(p.Object)
		if !o.Live || st == nil {
			return true
		}
		if len(st.Conditions) == 0 && !status.IsNew(p.Object, o.Now) {
			findings = append(findings, fmt.Sprintf("the manager has not looked at %s: is it running?", id))
		}
		if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionReady); p.Idle != nil && c != nil && c.Status == metav1.ConditionFalse {
			findings = append(findings, fmt.Sprintf("%s is not ready: %s", id, c.Message))
		}
		for _, f := range st.Failures {
			findings = append(findings, fmt.Sprintf("%s: %s %s: %s", id, f.Kind, strings.TrimPrefix(f.Namespace+"/"+f.Name, "/"), f.Message))
		}
		return true
	})
	slices.Sort(findings)
	c.Add("policies", workload.Count(n, "policy")+", all readable", findings)
}

// selections reports policies that select nothing. For cluster policies this is known only if all namespaces were read.
func (c *Checkup) selections(memory *world.Memory, whole bool) {
	var findings []string
	memory.Policies(func(p *world.Policy) bool {
		if p.IsBroken() || p.Deleting || p.ID.Namespace == "" && !whole || freeze.ExceptionOf(p.Policy.Policy) != nil {
			return true
		}
		selects := false
		status.EachJudged(memory, p, func(workload.Ref) { selects = true })
		memory.EachTarget(p, func(workload.Ref) { selects = true })
		selects = selects || p.Template != nil
		if !selects {
			findings = append(findings, fmt.Sprintf("%s selects nothing: explain an object that it was meant for, to see which term fails", p.ID))
		}
		return true
	})
	slices.Sort(findings)
	c.Add("selections", "every policy selects something", findings)
}

// controllers reports objects left to controllers without a way to sleep. If no adapter can help, the finding names the other remedies.
func (c *Checkup) controllers(memory *world.Memory) error {
	library, err := adapters.All()
	if err != nil {
		return err
	}
	var findings []string
	memory.Policies(func(p *world.Policy) bool {
		for missing, text := range memory.ControlsOf(p).Each {
			switch {
			case missing == "":
				text += ". List these objects by kind and name, or exclude them"
			case !slices.ContainsFunc(library, func(a v1alpha1.Adapter) bool { return a.Name == missing }):
				text += ". The library has none: write it, or list these objects by kind and name, or exclude them"
			}
			findings = append(findings, fmt.Sprintf("%s: %s", p.ID, text))
		}
		return true
	})
	slices.Sort(findings)
	c.Add("controllers", "no policy selects objects that a controller without an adapter may put back", findings)
	return nil
}

func (c *Checkup) ledgers(memory *world.Memory, unseen source.MissingRights) {
	var findings []string
	n := 0
	memory.EachObject(func(ref workload.Ref) {
		obj := memory.Object(ref)
		if obj.LedgerError != "" {
			findings = append(findings, fmt.Sprintf("the ledger of %s cannot be read, so it is never written: %s", ref, obj.LedgerError))
		}
		if len(obj.Ledger) > 0 {
			n++
		}
		for i := range obj.Ledger {
			if obj.Ledger[i].By == "" {
				findings = append(findings, fmt.Sprintf("the ledger of %s names no policy that may write there, so the manager restores it: "+
					"is the manager running?", ref))
				continue
			}
			by := workload.ParsePolicy(obj.Ledger[i].By)
			if kind, _ := kinds.Find(by.Kind); memory.Policy(by) == nil && !unseen.HidesPolicy(kind) {
				findings = append(findings, fmt.Sprintf("%s was changed by %s, which is not there, and was not given back: is the manager running?",
					ref, obj.Ledger[i].By))
			}
		}
	})
	slices.Sort(findings)
	c.Add("ledgers", fmt.Sprintf("%s with a ledger, all readable", workload.Count(n, "object")), slices.Compact(findings))
}

// rivalMarks maps prefixes of annotations to the tools that write these annotations. All of the tools put workloads to
// sleep.
var rivalMarks = map[string]string{
	"downscaler/": "py-kube-downscaler or GoKubeDownscaler", "lightsout.techsupport.mk/": "LightsOut", "kube-green.com/": "kube-green",
	"kube-green.dev/": "kube-green", "freeze-operator.io/": "kube-freeze-operator",
}

// rivals reports objects that have annotations of other tools. It skips an object with a controller, such as a
// ReplicaSet, because such an object has copies of its controller's annotations.
func (c *Checkup) rivals(w *source.World) {
	var findings []string
	for _, raw := range w.Objects {
		root := rawjson.ParseBytes(raw)
		if root.Get("metadata.ownerReferences.#(controller==true)").Exists() {
			continue
		}
		for tool, keys := range marksOf(root) {
			findings = append(findings, fmt.Sprintf("%s %s carries %s: %s writes it too, so let only one of them", root.Get("kind").Str,
				strings.TrimPrefix(root.Get("metadata.namespace").Str+"/"+root.Get("metadata.name").Str, "/"), strings.Join(keys, ", "), tool))
		}
	}
	slices.Sort(findings)
	c.Add("rivals", "no object carries the annotations of another scheduler", findings)
}

// marksOf returns an object's annotations of other tools, by tool.
func marksOf(root rawjson.Value) map[string][]string {
	marks := map[string][]string{}
	root.Get("metadata.annotations").ForEach(func(key, _ rawjson.Value) bool {
		for mark, tool := range rivalMarks {
			if strings.HasPrefix(key.Str, mark) {
				marks[tool] = append(marks[tool], key.Str)
			}
		}
		return true
	})
	return marks
}

// Names implements printer.Finding.
func (c *Checkup) Names() []string {
	names := make([]string, len(c.Checks))
	for i, k := range c.Checks {
		names[i] = k.Name
	}
	return names
}

// maxDetails is the number of details shown per check, unless -o wide is given.
const maxDetails = 10

// Text implements printer.Finding.
func (c *Checkup) Text(w *printer.Writer) {
	for _, k := range c.Checks {
		style := map[Outcome]printer.Style{OK: printer.Good, Problem: printer.Bad, NotChecked: printer.Warn}[k.Outcome]
		w.Line("%s: %s", k.Name, w.Styled(cmp.Or(string(k.Outcome), "?"), style))
		details := k.Details
		if more := len(details) - maxDetails; more > 0 && !w.Wide {
			details = append(slices.Clone(details[:maxDetails]), fmt.Sprintf("and %d more; -o wide shows them", more))
		}
		for _, d := range details {
			w.Line("  %s", d)
		}
	}
}
