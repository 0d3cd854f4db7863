package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// exitChanges is the exit code of plan if there are changes.
const exitChanges = 2

// Options are the flags and arguments of plan.
type Options struct {
	*factory.Factory
	factory.Manifests
	from, span string
	selector   string
	remove     bool

	args      []string
	namespace string
	edit      *source.Manifests
}

// New returns the verb plan.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "plan [KIND/NAME...]",
		Short: "List every write before it happens, and the savings of the policies",
		Long: `Lists every write of the policies in a span of time, in advance: the time, the object, the field, the old and the new value,
and the policy, by a simulation in the manager's own code, from one possible change to the next.

With --from in the future, the time until then is simulated first (at most five weeks) and not listed. In the past, the plan is
hypothetical: the present policies and objects, applied to that time. Assumptions:

- Objects of Triggers' templates are created, or restored, at the beginning. A created object has only the template's fields.
- An open batch of a rate limit counts as used up.
- An autoscaler changes a count only to keep it within the bounds in force.

Not part of the plan are deletion costs, which follow pods; fields removed from a template; and deployments by people. Notes
name the affected policies.
With -f, policies and adapters from files are added to the present policies, or replace them (with --delete, remove them), and the
difference is shown.

Exit codes: 0 nothing changes, 1 an error, 2 something changes.`,
		Example: "  kubectl flyball plan --for 7d\n  kubectl flyball plan -A -f schedule.yaml\n  kubectl flyball plan --offline " +
			"manifests/ -f schedule.yaml",
		ValidArgsFunction: f.CompleteObject(nil),
	})
	o.AddAllFlag(cmd)
	o.AddFilenames(cmd, "Policies and adapters to plan with, as if they were applied")
	cmd.Flags().BoolVar(&o.remove, "delete", false, "The policies and adapters of -f are deleted instead")
	cmd.Flags().StringVar(&o.from, "from", "now", "Instant to begin at")
	cmd.Flags().StringVar(&o.span, "for", "7d", "How long: a span such as 12h or 7d")
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "Only targets with these labels")
	return cmd
}

// Complete implements factory.Verb. It reads the manifests of -f.
func (o *Options) Complete(args []string) (err error) {
	o.args, o.namespace = args, o.Namespace()
	if _, err := o.input(); err != nil {
		return err
	}
	if o.remove && len(o.Paths) == 0 {
		return errors.New("--delete needs the manifests of the objects to delete")
	}
	o.edit, err = o.Files(o.Paths, o.namespace).Read()
	return err
}

// Validate implements factory.Verb.
func (o *Options) Validate() error {
	if len(o.Paths) > 0 && !o.edit.Edits() {
		return fmt.Errorf("there is no policy, calendar or adapter in %s, so there is nothing to plan with", strings.Join(o.Paths, ", "))
	}
	return nil
}

// Run plans.
func (o *Options) Run(ctx context.Context) error {
	w, err := o.Load(ctx, source.Query{Namespace: o.Within(), Also: o.edit.Adapters})
	if err != nil {
		return err
	}
	in, err := o.input() // of an instant after the reading: a write between the two would be planned again, backwards
	if err != nil {
		return err
	}
	if in.Keep, err = o.keep(w, in.From); err != nil {
		return err
	}
	p := o.StartProgress()
	in.Progress = func(at time.Time) { p.Doing("planning " + at.In(o.Zone).Format(time.DateOnly)) }
	found, err := o.plan(ctx, w, in)
	p.Done()
	if err != nil {
		return err
	}
	return factory.Answer(o.Print(found), len(found.Changes) > 0, exitChanges)
}

func (o *Options) input() (Input, error) {
	in := Input{Zone: o.Zone, Now: o.Now()}
	var err error
	in.From, in.To, err = o.Between(o.from, o.span)
	return in, err
}

// keep returns a function that reports whether the changes of a target are listed.
func (o *Options) keep(w *source.World, from time.Time) (func(workload.Ref, *workload.Object) bool, error) {
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	var named []workload.Ref
	for _, arg := range o.args {
		target, err := w.FindTarget(arg, o.namespace)
		if err != nil {
			return nil, err
		}
		named = append(named, target.Ref)
	}
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	for _, ref := range named {
		if memory.Raw(ref) == nil {
			return nil, w.Missing(ref)
		}
		if v := decide.Target(memory, ref, from, nil); len(v.Opinions) == 0 {
			w.NoteUnselected(memory, ref)
		}
	}
	return func(ref workload.Ref, obj *workload.Object) bool {
		return (len(named) == 0 || slices.Contains(named, ref)) && selector.Matches(obj.Labels)
	}, nil
}

// plan returns the plan of the world. With an edit it returns the difference that the edit makes to the plan.
func (o *Options) plan(ctx context.Context, w *source.World, in Input) (*Plan, error) {
	if !o.edit.Edits() {
		return Make(ctx, w, in)
	}
	edited, err := w.Overlay(o.edit)
	if o.remove {
		edited, err = w.Deleted(o.edit, metav1.NewTime(source.RunUp(in.Now, in.From)))
	}
	if err != nil {
		return nil, err
	}
	before, err := Make(ctx, w, in)
	if err != nil {
		return nil, err
	}
	after, err := Make(ctx, edited, in)
	if err != nil {
		return nil, err
	}
	return Compare(before, after), nil
}
