package cli

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

	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// exitChanges is the exit code of plan if there are changes.
const exitChanges = 2

type planVerb struct {
	*factory.Factory
	factory.Manifests
	from, span string
	selector   string
	remove     bool
}

func newPlan(s *factory.Factory) *cobra.Command {
	v := &planVerb{Factory: s}
	cmd := &cobra.Command{
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
		ValidArgsFunction: s.CompleteObject(nil),
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
	}
	v.AddAllFlag(cmd)
	v.AddFilenames(cmd, "Policies and adapters to plan with, as if they were applied")
	cmd.Flags().BoolVar(&v.remove, "delete", false, "The policies and adapters of -f are deleted instead")
	cmd.Flags().StringVar(&v.from, "from", "now", "Instant to begin at")
	cmd.Flags().StringVar(&v.span, "for", "7d", "How long: a span such as 12h or 7d")
	cmd.Flags().StringVarP(&v.selector, "selector", "l", "", "Only targets with these labels")
	return cmd
}

func (v *planVerb) run(ctx context.Context, args []string) error {
	if _, err := v.options(); err != nil {
		return err
	}
	if v.remove && len(v.Paths) == 0 {
		return errors.New("--delete needs the manifests of the objects to delete")
	}
	namespace := v.Namespace()
	edit, err := v.Files(v.Paths, namespace).Read()
	if err != nil {
		return err
	}
	if len(v.Paths) > 0 && !edit.Edits() {
		return fmt.Errorf("there is no policy, calendar or adapter in %s, so there is nothing to plan with", strings.Join(v.Paths, ", "))
	}
	w, err := v.Load(ctx, source.Query{Namespace: v.Within(), Also: edit.Adapters})
	if err != nil {
		return err
	}
	o, err := v.options() // of an instant after the reading: a write between the two would be planned again, backwards
	if err != nil {
		return err
	}
	if o.Keep, err = v.keep(w, args, namespace, o.From); err != nil {
		return err
	}
	p := v.StartProgress()
	o.Progress = func(at time.Time) { p.Doing("planning " + at.In(v.Zone).Format(time.DateOnly)) }
	found, err := v.plan(ctx, w, edit, o)
	p.Done()
	if err != nil {
		return err
	}
	return factory.Answer(v.Print(found), len(found.Changes) > 0, exitChanges)
}

func (v *planVerb) options() (plan.Options, error) {
	o := plan.Options{Zone: v.Zone, Now: v.Now()}
	var err error
	o.From, o.To, err = v.Between(v.from, v.span)
	return o, err
}

// keep returns a function that reports whether the changes of a target are listed.
func (v *planVerb) keep(w *source.World, args []string, namespace string, from time.Time) (func(workload.Ref, *workload.Object) bool,
	error) {
	selector, err := labels.Parse(v.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	var named []workload.Ref
	for _, arg := range args {
		target, err := w.FindTarget(arg, namespace)
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
func (v *planVerb) plan(ctx context.Context, w *source.World, edit *source.Manifests, o plan.Options) (*plan.Plan, error) {
	if !edit.Edits() {
		return plan.Make(ctx, w, o)
	}
	edited, err := w.Overlay(edit)
	if v.remove {
		edited, err = w.Deleted(edit, metav1.NewTime(instant.RunUp(o.Now, o.From)))
	}
	if err != nil {
		return nil, err
	}
	before, err := plan.Make(ctx, w, o)
	if err != nil {
		return nil, err
	}
	after, err := plan.Make(ctx, edited, o)
	if err != nil {
		return nil, err
	}
	return plan.Compare(before, after), nil
}
