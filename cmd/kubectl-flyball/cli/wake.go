package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/wake"
)

// fieldManager is the field manager of the plugin's writes.
const fieldManager = "kubectl-flyball"

type wakeVerb struct {
	*session
	manifests
	span, until string
	reason      string
	selector    string
	wait        bool
	timeout     time.Duration
	dryRun      bool
	mark        wake.Mark
	// end is true if the mark is removed.
	end bool
}

func newWake(s *session) *cobra.Command {
	v := &wakeVerb{session: s, mark: wake.Awake}
	cmd := &cobra.Command{
		Use:   "wake {TARGET... | -l LABELS} --for 2h",
		Short: "Keep objects, a namespace or a schedule's targets awake for some time, in spite of schedules",
		Long: `Keeps objects (KIND/NAME), a namespace (namespace/NAME) or all targets of a schedule (schedule/NAME) awake until an instant, by the
annotation flyball.dev/awake-until, and prints the objects that wake. Objects suspended by a freeze do not wake. With -l, the selected
objects of schedules with these labels are kept awake.

It takes the right to patch the annotated objects. Without rights to read policies too, the objects that wake are not shown.

Exit codes: 0 done, 1 an error, or with --wait an object that was not ready in time.`,
		Example: "  kubectl flyball wake deployment/web --for 2h --reason \"demo for a customer\" --wait\n  kubectl flyball wake " +
			"namespace/shop --until 22:00\n  kubectl flyball wake -l team=search --until \"tomorrow 08:00\"\n  kubectl flyball wake " +
			"schedule/office-hours --for 1d --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },

		ValidArgsFunction: s.completePlaces,
	}
	v.flags(cmd)
	v.untilFlags(cmd, "flyball.dev/awake-reason")
	cmd.Flags().BoolVar(&v.wait, "wait", false,
		"Wait until the named objects, and the objects that the namespace or schedule wakes at once or keeps awake, are ready according to "+
			"their adapters")
	cmd.Flags().DurationVar(&v.timeout, "timeout", 5*time.Minute, "How long --wait waits")
	return cmd
}

func newHold(s *session) *cobra.Command {
	v := &wakeVerb{session: s, mark: wake.Held}
	cmd := &cobra.Command{
		Use:   "hold TARGET... {--for 2h | --end}",
		Short: "Hold objects for some time: an autoscaler at its present size, a roll-out, an operator",
		Long: `Holds objects (KIND/NAME) until an instant, by the annotation flyball.dev/hold-until, and prints the fields that change. The adapter of
the kind says how: an autoscaler stops scaling, a roll-out pauses, an operator leaves its object alone. Afterwards Flyball restores the
originals. With --end the hold ends now.

A hold does not keep an object awake: a schedule still puts the target of a held autoscaler to sleep and wakes it.

It takes the right to patch the objects. Without rights to read policies too, the changes are not shown.

Exit codes: 0 done, 1 an error, or an object that cannot be held.`,
		Example: "  kubectl flyball hold hpa/web --for 2h --reason \"load test\"\n" +
			"  kubectl flyball hold deployment/web --until 22:00 --dry-run\n  kubectl flyball hold hpa/web --end",
		Args:              cobra.MinimumNArgs(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
		ValidArgsFunction: s.completeObjects,
	}
	v.addFlags(cmd, offlineFiles+"; nothing is written then")
	v.untilFlags(cmd, "flyball.dev/hold-reason")
	cmd.Flags().BoolVar(&v.end, "end", false, "End the hold now")
	cmd.Flags().BoolVar(&v.dryRun, "dry-run", false, "Show the effect, and write nothing")
	return cmd
}

func newSleep(s *session) *cobra.Command {
	v := &wakeVerb{session: s, mark: wake.Awake, end: true}
	cmd := &cobra.Command{
		Use:   "sleep {TARGET... | -l LABELS}",
		Short: "Undo wake, so that schedules decide again",
		Long: `Removes the annotation flyball.dev/awake-until from objects, a namespace or a schedule, and shows the effect. It puts nothing to sleep
that no schedule puts to sleep.`,
		Example:           "  kubectl flyball sleep deployment/web\n  kubectl flyball sleep namespace/shop --dry-run",
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
		ValidArgsFunction: s.completePlaces,
	}
	v.flags(cmd)
	return cmd
}

func (v *wakeVerb) flags(cmd *cobra.Command) {
	v.addFlags(cmd, offlineFiles+"; nothing is written then")
	cmd.Flags().StringVarP(&v.selector, "selector", "l", "",
		"In place of TARGETs: the objects of the namespace with these labels that schedules select")
	cmd.Flags().BoolVar(&v.dryRun, "dry-run", false, "Show the effect, and write nothing")
}

// untilFlags adds the flags for the end and the reason of a mark.
func (v *wakeVerb) untilFlags(cmd *cobra.Command, annotation string) {
	cmd.Flags().StringVar(&v.span, "for", "", "How long: a span such as 2h or 1d")
	cmd.Flags().StringVar(&v.until, "until", "", "Instant until which, instead of --for; 22:00 alone is the next time that it is that late")
	cmd.Flags().StringVar(&v.reason, "reason", "", "Why, kept as the annotation "+annotation)
}

func (v *wakeVerb) run(ctx context.Context, args []string) error {
	if (len(args) > 0) == (v.selector != "") {
		return errors.New("give TARGETs (KIND/NAME, namespace/NAME or schedule/NAME), or labels with -l, and not both")
	}
	until, err := v.instant()
	if err != nil {
		return err
	}
	namespace, err := wake.Where(args, v.namespace())
	if err != nil {
		return err
	}
	q := source.Query{Namespace: namespace}
	if slices.ContainsFunc(args, wake.ReachesAll) {
		q.Namespace = ""
	}
	w, err := v.worldOf(ctx, q, args)
	if err != nil {
		return v.blindly(ctx, args, namespace, until, err)
	}
	places, err := wake.Places(w, args, v.selector, namespace)
	if err != nil {
		return v.blindly(ctx, args, namespace, until, err)
	}
	if v.mark == wake.Held && !v.end {
		for _, p := range places {
			if err := wake.CheckHold(w, p); err != nil {
				return err
			}
		}
	}
	effect, err := v.mark.Of(ctx, w, places, until, v.reason, v.Now().Truncate(time.Second), v.zone)
	if err != nil {
		return err
	}
	v.showNotes(w)
	if effect.DryRun = v.dryRun || v.offline; effect.DryRun {
		return v.print(effect)
	}
	cluster, err := v.cluster()
	if err != nil {
		return err
	}
	if err := v.mark.Write(ctx, cluster.Client, places, until, v.reason, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return err
	}
	if !v.wait {
		return v.print(effect)
	}
	return v.await(ctx, cluster, w, places, effect)
}

// worldOf reads the objects that an edit of places can reach.
func (v *wakeVerb) worldOf(ctx context.Context, q source.Query, args []string) (*source.World, error) {
	if v.mark == wake.Held && !slices.ContainsFunc(args, func(a string) bool { return wake.NamespaceOf(a) != "" }) {
		w, _, err := v.readAround(ctx, args, v.paths)
		return w, err
	}
	return v.load(ctx, q, v.paths)
}

// blindly sets the annotation without showing its effect, as kubectl annotate would. It does so if fault says that the
// rights to read the world are missing, and returns any other fault.
func (v *wakeVerb) blindly(ctx context.Context, args []string, namespace string, until time.Time, fault error) error {
	missing := source.MissingRights(nil)
	if !errors.As(fault, &missing) || v.dryRun || v.wait || v.selector != "" {
		return fault
	}
	cluster, err := v.cluster()
	if err != nil {
		return err
	}
	var places []wake.Place
	for _, arg := range args {
		p, err := wake.Resolve(cluster.Mapper, arg, namespace)
		if err != nil {
			return err
		}
		places = append(places, p)
	}
	if err := v.mark.Write(ctx, cluster.Client, places, until, v.reason, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return err
	}
	v.noteMissing(missing)
	return v.print(v.mark.Blind(places, until, v.reason, v.zone))
}

// await waits until all objects are ready. For a person it first prints the changes, and then each object when it is
// ready.
func (v *wakeVerb) await(ctx context.Context, cluster source.Cluster, w *source.World, places []wake.Place, effect *wake.Effect) error {
	people := v.format == report.Table || v.format == report.Wide
	if people {
		if err := v.print(effect); err != nil {
			return err
		}
	}
	p := v.startProgress()
	defer p.done()
	err := effect.Await(ctx, cluster.Client, w, places, v.timeout, p.doing, func(ready string) {
		if people {
			p.line(v.Out, ready+" is ready")
		}
	})
	if people {
		return err
	}
	return errors.Join(v.print(effect), err)
}

// instant returns the instant until which the objects are marked. The zero time means that the mark is removed.
func (v *wakeVerb) instant() (time.Time, error) {
	if v.end && v.span+v.until+v.reason != "" {
		return time.Time{}, errors.New("--end ends the hold now: give it without --for, --until and --reason")
	}
	if v.end {
		return time.Time{}, nil
	}
	return wake.End(v.span, v.until, v.Now(), v.zone)
}
