package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/override"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
)

// orderVerb is one of the verbs wake, sleep and hold.
type orderVerb struct {
	*factory.Factory
	order    override.Order
	selector string
	wait     bool
	timeout  time.Duration
	dryRun   bool
}

func newWake(s *factory.Factory) *cobra.Command {
	v := &orderVerb{Factory: s, order: override.Order{Effect: v1alpha1.OverrideAwake}}
	cmd := v.command("wake", "Keep objects, a namespace or a schedule's targets awake for some time, in spite of schedules",
		`Creates an Override with the effect Awake for objects (KIND/NAME), a namespace (namespace/NAME), all targets of a schedule
(schedule/NAME), or with -l the objects with these labels, and prints the objects that wake. Schedules yield within their spec.overrides.
Objects suspended by a freeze do not wake.

It takes the right to create overrides. Without rights to read policies too, the objects that wake are not shown.

Exit codes: 0 done, 1 an error, or with --wait an object that has a limit or was not ready in time.`,
		"  kubectl flyball wake deployment/web --for 2h --reason \"demo for a customer\" --wait\n  kubectl flyball wake "+
			"namespace/shop --until 22:00\n  kubectl flyball wake -l team=search --until \"tomorrow 08:00\"\n  kubectl flyball wake "+
			"schedule/office-hours --for 1d --dry-run\n  kubectl flyball wake deployment/web --end")
	cmd.Flags().BoolVar(&v.wait, "wait", false,
		"Wait until the named objects, and the objects that the namespace or schedule wakes at once or keeps awake, are ready according to "+
			"their adapters")
	cmd.Flags().DurationVar(&v.timeout, "timeout", 5*time.Minute, "How long --wait waits")
	return cmd
}

func newSleep(s *factory.Factory) *cobra.Command {
	v := &orderVerb{Factory: s, order: override.Order{Effect: v1alpha1.OverrideAsleep}}
	return v.command("sleep", "Put objects, a namespace or a schedule's targets to sleep for some time",
		`Creates an Override with the effect Asleep for objects (KIND/NAME), a namespace (namespace/NAME), all targets of a schedule
(schedule/NAME), or with -l the objects with these labels, and prints the objects that go to sleep. Afterwards Flyball restores the
originals, unless a schedule puts them to sleep then.

It takes the right to create overrides and to patch the objects.

Exit codes: 0 done, 1 an error.`,
		"  kubectl flyball sleep deployment/web --for 2h\n  kubectl flyball sleep namespace/shop --until \"tomorrow 08:00\" --dry-run\n"+
			"  kubectl flyball sleep deployment/web --end")
}

func newHold(s *factory.Factory) *cobra.Command {
	v := &orderVerb{Factory: s, order: override.Order{Effect: v1alpha1.OverrideHold}}
	return v.command("hold", "Hold objects for some time: an autoscaler at its present size, a roll-out, an operator",
		`Creates an Override with the effect Hold, and prints the fields that change. The adapter of the kind says how: an autoscaler stops
scaling, a roll-out pauses, an operator leaves its object alone. Afterwards Flyball restores the originals.

A hold does not keep an object awake: a schedule still puts the target of a held autoscaler to sleep and wakes it.

It takes the right to create overrides and to patch the objects.

Exit codes: 0 done, 1 an error, or an object that cannot be held.`,
		"  kubectl flyball hold hpa/web --for 2h --reason \"load test\"\n"+
			"  kubectl flyball hold deployment/web --until 22:00 --dry-run\n  kubectl flyball hold hpa/web --end")
}

// command returns the command of a verb with the flags that all three verbs have.
func (v *orderVerb) command(verb, short, long, example string) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " {TARGET... | -l LABELS} {--for 2h | --until INSTANT | --end}", Short: short, Long: long, Example: example,
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
		ValidArgsFunction: v.CompleteObjects(override.Names),
	}
	flags := cmd.Flags()
	flags.StringVarP(&v.selector, "selector", "l", "", "In place of TARGETs: the objects of the namespace with these labels")
	flags.StringVar(&v.order.Span, "for", "", "How long: a span such as 2h or 1d")
	flags.StringVar(&v.order.Until, "until", "", "Instant until which, instead of --for; 22:00 alone is the next time that it is that late")
	flags.BoolVar(&v.order.End, "end", false, "End it now: delete the Overrides of this effect for exactly these TARGETs or LABELS")
	flags.StringVar(&v.order.Reason, "reason", "", "Why, for the people whose schedule yields")
	flags.BoolVar(&v.dryRun, "dry-run", false, "Show the Override and its effect, and write nothing")
	return cmd
}

func (v *orderVerb) run(ctx context.Context, args []string) error {
	if (len(args) > 0) == (v.selector != "") {
		return errors.New("give TARGETs (KIND/NAME, namespace/NAME or schedule/NAME), or labels with -l, and not both")
	}
	v.order.Now, v.order.Zone = v.Now(), v.Zone
	if err := v.order.Check(); err != nil {
		return err
	}
	namespace, err := override.Where(args, v.Namespace())
	if err != nil {
		return err
	}
	q := source.Query{Namespace: namespace}
	if slices.ContainsFunc(args, override.ReachesAll) {
		q.Namespace = ""
	}
	w, err := v.Load(ctx, q)
	if err != nil {
		return v.blindly(ctx, args, namespace, err)
	}
	places, err := override.Places(w, args, v.selector, namespace)
	if err != nil {
		return v.blindly(ctx, args, namespace, err)
	}
	if v.order.Effect == v1alpha1.OverrideHold && !v.order.End {
		for _, p := range places {
			if err := override.CheckHold(w, p); err != nil {
				return err
			}
		}
	}
	effect, err := v.order.Of(ctx, w, places)
	if err != nil {
		return err
	}
	v.ShowNotes(w)
	if effect.DryRun = v.dryRun || v.Offline(); effect.DryRun {
		return v.show(effect)
	}
	cluster, err := v.Cluster()
	if err != nil {
		return err
	}
	if err := effect.Write(ctx, cluster.Client, factory.FieldManager, nil); err != nil {
		return err
	}
	if !v.wait {
		return v.show(effect)
	}
	return v.await(ctx, cluster, w, places, effect)
}

// show prints an effect. As YAML it prints the Overrides alone, ready for kubectl create.
func (v *orderVerb) show(effect *override.Effect) error {
	if v.Format != report.YAML {
		return v.Print(effect)
	}
	text, err := effect.Manifest()
	if err != nil {
		return err
	}
	_, err = v.Out.Write([]byte(text))
	return err
}

// blindly creates the Overrides without showing their effect. It does so if fault says that the rights to read the
// world are missing, and returns any other fault.
func (v *orderVerb) blindly(ctx context.Context, args []string, namespace string, fault error) error {
	missing := source.MissingRights(nil)
	if !errors.As(fault, &missing) || v.dryRun || v.wait || v.order.End || v.selector != "" {
		return fault
	}
	cluster, err := v.Cluster()
	if err != nil {
		return err
	}
	var places []override.Place
	for _, arg := range args {
		p, err := override.Resolve(cluster.Mapper, arg, namespace)
		if err != nil {
			return err
		}
		places = append(places, p)
	}
	effect := v.order.Blind(places)
	if err := effect.Write(ctx, cluster.Client, factory.FieldManager, nil); err != nil {
		return err
	}
	v.NoteMissing(missing)
	return v.show(effect)
}

// await waits until all objects are ready. For a person it first prints the changes, and then each object when it is
// ready.
func (v *orderVerb) await(ctx context.Context, cluster source.Cluster, w *source.World, places []override.Place,
	effect *override.Effect) error {
	people := v.Format == report.Table || v.Format == report.Wide
	if people {
		if err := v.Print(effect); err != nil {
			return err
		}
	}
	p := v.StartProgress()
	defer p.Done()
	err := effect.Await(ctx, cluster.Client, w, places, v.timeout, p.Doing, func(ready string) {
		if people {
			p.Line(v.Out, ready+" is ready")
		}
	})
	if people {
		return err
	}
	return errors.Join(v.Print(effect), err)
}
