package suggest

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/policy/trigger"
	"flyball.dev/flyball/engine/workload"
)

// TriggerOptions are the flags and arguments of suggest trigger.
type TriggerOptions struct {
	Options
	container, request string
	utilisation, least int
	headroom           float64
	lowerMax           bool
}

func newTrigger(f *factory.Factory) *cobra.Command {
	o := &TriggerOptions{Options: Options{Factory: f}}
	cmd := factory.Command(o, &cobra.Command{
		Use: "trigger KIND/NAME", Short: "Propose a Trigger with bounds by hour for the autoscaler of a workload", Long: longTrigger,
		Example: "  kubectl flyball suggest trigger deployment/checkout --offline manifests/ --usage weeks.csv --time-zone Europe/Berlin",
	})
	o.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.container, "container", "",
		"Container whose CPU is scaled by replicas (default: the autoscaler's, else the one that requests most)")
	flags.StringVar(&o.request, "request", "", "CPU that a pod requests, such as 500m (default: that of the container)")
	flags.IntVar(&o.utilisation, "utilisation", 0, "Target utilisation in percent (default: the autoscaler's)")
	flags.IntVar(&o.least, "min-replicas", 2, "Least minimum to propose")
	flags.Float64Var(&o.headroom, "headroom", 1.5, "How many times the largest demand of an hour its maximum serves at least")
	flags.BoolVar(&o.lowerMax, "lower-max", false, "Propose maxima below that of the autoscaler too")
	return cmd
}

// Validate implements factory.Verb.
func (o *TriggerOptions) Validate() error {
	var f faults
	o.check(&f)
	if o.least < 1 {
		f.add("--min-replicas: %d is below 1", o.least)
	}
	if o.headroom < 1 {
		f.add("--headroom: %v is below 1", o.headroom)
	}
	return errors.Join(f...)
}

// Run proposes a Trigger.
func (o *TriggerOptions) Run(ctx context.Context) error {
	w, memory, target, err := o.read(ctx)
	if err != nil {
		return err
	}
	s, err := analysis.NewSubject(w, memory, target)
	if err != nil {
		return err
	}
	if err := s.Scale(o.container, v1alpha1.TortoiseRules{}); err != nil {
		return err
	}
	pods, least, most, err := o.pods(s)
	if err != nil {
		return err
	}
	bounds, err := o.demand.HourlyBounds(o.teach, pods)
	if err != nil {
		return o.refused(err)
	}
	finding, err := o.findTrigger(s, bounds, pods, least, most)
	if err != nil {
		return err
	}
	return o.PrintManifests(finding)
}

// pods returns a description of the pods of a subject, and the minimum and the maximum of its autoscaler.
func (o *TriggerOptions) pods(s *analysis.Subject) (p analysis.Pods, least, most int, err error) {
	if s.Autoscaler == nil {
		return p, 0, 0, fmt.Errorf("no autoscaler governs %s, and bounds by hour are those of one: make a HorizontalPodAutoscaler first", s.Ref)
	}
	p = analysis.Pods{Request: s.Requests[s.Scaled].CPU, Target: o.utilisation, Least: o.least, Headroom: o.headroom}
	if o.request != "" {
		q, ok := workload.ParseQuantity(o.request)
		if p.Request = q.MilliValue(); !ok {
			p.Request = 0
		}
	}
	if u := s.Target(); p.Target == 0 && u != nil {
		p.Target = int(u.Percent)
	}
	if p.Request <= 0 {
		return p, 0, 0, fmt.Errorf("%s: the container %s requests no CPU that is known: give --request, such as 500m", s.Ref, s.Scaled)
	}
	if p.Target <= 0 {
		return p, 0, 0, fmt.Errorf("%s has no target utilisation for CPU: give --utilisation", s.Autoscaler.Ref)
	}
	b := s.Autoscaler.Bounds
	least, most = int(ptr.Deref(b.Min, 1)), int(ptr.Deref(b.Max, 0))
	if most < max(least, 1) {
		return p, 0, 0, fmt.Errorf("%s has no maximum to begin with", s.Autoscaler.Ref)
	}
	if !o.lowerMax {
		p.Ceiling = most
	}
	return p, least, most, nil
}

// findTrigger tries bounds in a back-test, and makes a manifest with these bounds.
func (o *TriggerOptions) findTrigger(s *analysis.Subject, bounds []analysis.Bounds, pods analysis.Pods, least, most int) (*Trigger, error) {
	tried, err := o.demand.TryBounds(bounds, o.days, pods, least, most)
	if err != nil {
		return nil, err
	}
	f := &Trigger{
		Head:    Head{Target: s.Ref.String(), TimeZone: o.Zone.String(), From: o.from, Learnt: daysOf(o.teach), Tried: daysOf(o.days)},
		Request: fmt.Sprintf("%dm", pods.Request), Utilisation: pods.Target, Autoscaler: s.Autoscaler.String(),
		Own: outcomeOf(tried.Own, pods.Request), Proposed: outcomeOf(tried.Proposed, pods.Request), min: least, max: most,
	}
	rules := v1alpha1.TriggerRules{TimeZone: f.TimeZone}
	for _, b := range bounds {
		rules.Triggers = append(rules.Triggers, v1alpha1.TimeTrigger{
			Name: b.Name, Window: b.Window, During: v1alpha1.TriggerValues{Min: ptr.To(int64(b.Min)), Max: ptr.To(int64(b.Max))},
		})
		f.Bounds = append(f.Bounds, HourBounds{Days: b.Window.Days, From: b.Window.From, To: b.Window.To, Min: b.Min, Max: b.Max})
	}
	f.Manifest, err = manifest(trigger.KindName, workload.Ref{Namespace: s.Ref.Namespace, Name: s.Ref.Name},
		v1alpha1.TriggerSpec{Target: targetOf(s.Autoscaler.Ref), TriggerRules: rules})
	return f, err
}

// HourBounds are the proposed bounds for some hours.
type HourBounds struct {
	// Days are the days of the bounds. They are absent if the bounds are for every day.
	Days []v1alpha1.Day `json:"days,omitempty"`
	From string         `json:"from"`
	To   string         `json:"to"`
	Min  int            `json:"min"`
	Max  int            `json:"max"`
}

// Outcome is the outcome of bounds in the back-test.
type Outcome struct {
	// Cores is the mean request of all pods.
	Cores float64 `json:"cores"`
	// ViolationMinutes is the number of minutes in which the demand exceeds 85 % of the requests of the ready pods.
	ViolationMinutes float64 `json:"violationMinutes"`
}

func outcomeOf(o tune.Outcome, request int64) Outcome {
	return Outcome{round(o.Pods() * float64(request) / 1000), round(o.Minutes())}
}

// Trigger is a proposed Trigger with its back-test.
type Trigger struct {
	Head        `json:",inline"`
	Autoscaler  string       `json:"autoscaler"`
	Request     string       `json:"request"`
	Utilisation int          `json:"utilisation"`
	Bounds      []HourBounds `json:"bounds"`
	Own         Outcome      `json:"own"`
	Proposed    Outcome      `json:"proposed"`
	// Manifest is the Trigger.
	Manifest map[string]any `json:"manifest"`

	min, max int
}

// Names implements printer.Finding.
func (f *Trigger) Names() []string { return nameOf(f.Manifest) }

// Text implements printer.Finding.
func (f *Trigger) Text(w *printer.Writer) {
	printer.Comment(w, "", fmt.Sprintf("Bounds by hour for %s, from the demand of %s, by %s.", f.Autoscaler, f.Target, f.From))
	f.text(w)
	printer.Comment(w, "- ", fmt.Sprintf("A pod requests %s, and serves %d %% of that.", f.Request, f.Utilisation))
	printer.Comment(w, "- ",
		fmt.Sprintf("Back-test: with %d to %d pods at all hours %.1f cores were requested on average, and demand was above the headroom for "+
			"%.1f minutes; with these bounds it is %.1f cores and %.1f minutes.",
			f.min, f.max, f.Own.Cores, f.Own.ViolationMinutes, f.Proposed.Cores, f.Proposed.ViolationMinutes))
	if f.Proposed.Cores >= f.Own.Cores && f.Proposed.ViolationMinutes >= f.Own.ViolationMinutes {
		printer.Comment(w, "- ", "The bounds that the autoscaler has are as good or better on these days: keep them.")
	}
	block(w, f.Manifest)
}
