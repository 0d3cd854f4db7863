package override

import (
	"context"
	"errors"
	"slices"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
)

// Options are the flags and arguments of wake, sleep or hold.
type Options struct {
	*factory.Factory
	order    Order
	selector string
	wait     bool
	timeout  time.Duration
	dryRun   bool

	args      []string
	namespace string
}

// NewWake returns the verb wake.
func NewWake(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f, order: Order{Effect: v1alpha1.OverrideAwake}}
	cmd := o.command("wake", "Keep objects, a namespace or a schedule's targets awake for some time, in spite of schedules",
		`Creates an Override with the effect Awake for objects (KIND/NAME), a namespace (namespace/NAME), all targets of a schedule
(schedule/NAME), or with -l the objects with these labels, and prints the objects that wake. Schedules yield within their spec.overrides.
Objects suspended by a freeze do not wake.

It takes the right to create overrides. Without rights to read policies too, the objects that wake are not shown.

Exit codes: 0 done, 1 an error, or with --wait an object that has a limit or was not ready in time.`,
		"  kubectl flyball wake deployment/web --for 2h --reason \"demo for a customer\" --wait\n  kubectl flyball wake "+
			"namespace/shop --until 22:00\n  kubectl flyball wake -l team=search --until \"tomorrow 08:00\"\n  kubectl flyball wake "+
			"schedule/office-hours --for 1d --dry-run\n  kubectl flyball wake deployment/web --end")
	cmd.Flags().BoolVar(&o.wait, "wait", false,
		"Wait until the named objects, and the objects that the namespace or schedule wakes at once or keeps awake, are ready according to "+
			"their adapters")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "How long --wait waits")
	return cmd
}

// NewSleep returns the verb sleep.
func NewSleep(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f, order: Order{Effect: v1alpha1.OverrideAsleep}}
	return o.command("sleep", "Put objects, a namespace or a schedule's targets to sleep for some time",
		`Creates an Override with the effect Asleep for objects (KIND/NAME), a namespace (namespace/NAME), all targets of a schedule
(schedule/NAME), or with -l the objects with these labels, and prints the objects that go to sleep. Afterwards Flyball restores the
originals, unless a schedule puts them to sleep then.

It takes the right to create overrides and to patch the objects.

Exit codes: 0 done, 1 an error.`,
		"  kubectl flyball sleep deployment/web --for 2h\n  kubectl flyball sleep namespace/shop --until \"tomorrow 08:00\" --dry-run\n"+
			"  kubectl flyball sleep deployment/web --end")
}

// NewHold returns the verb hold.
func NewHold(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f, order: Order{Effect: v1alpha1.OverrideHold}}
	return o.command("hold", "Hold objects for some time: an autoscaler at its present size, a roll-out, an operator",
		`Creates an Override with the effect Hold, and prints the fields that change. The adapter of the kind says how: an autoscaler stops
scaling, a roll-out pauses, an operator leaves its object alone. Afterwards Flyball restores the originals.

A hold does not keep an object awake: a schedule still puts the target of a held autoscaler to sleep and wakes it.

It takes the right to create overrides and to patch the objects.

Exit codes: 0 done, 1 an error, or an object that cannot be held.`,
		"  kubectl flyball hold hpa/web --for 2h --reason \"load test\"\n"+
			"  kubectl flyball hold deployment/web --until 22:00 --dry-run\n  kubectl flyball hold hpa/web --end")
}

// command returns the command of a verb with the flags that all three verbs have.
func (o *Options) command(verb, short, long, example string) *cobra.Command {
	cmd := factory.Command(o, &cobra.Command{
		Use: verb + " {TARGET... | -l LABELS} {--for 2h | --until INSTANT | --end}", Short: short, Long: long, Example: example,
		ValidArgsFunction: o.CompleteObjects(Names),
	})
	flags := cmd.Flags()
	flags.StringVarP(&o.selector, "selector", "l", "", "In place of TARGETs: the objects of the namespace with these labels")
	flags.StringVar(&o.order.Span, "for", "", "How long: a span such as 2h or 1d")
	flags.StringVar(&o.order.Until, "until", "", "Instant until which, instead of --for; 22:00 alone is the next time that it is that late")
	flags.BoolVar(&o.order.End, "end", false, "End it now: delete the Overrides of this effect for exactly these TARGETs or LABELS")
	flags.StringVar(&o.order.Reason, "reason", "", "Why, for the people whose schedule yields")
	flags.BoolVar(&o.dryRun, "dry-run", false, "Show the Override and its effect, and write nothing")
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete(args []string) error {
	o.args, o.order.Now, o.order.Zone = args, o.Now(), o.Zone
	return nil
}

// Validate implements factory.Verb.
func (o *Options) Validate() (err error) {
	if (len(o.args) > 0) == (o.selector != "") {
		return errors.New("give TARGETs (KIND/NAME, namespace/NAME or schedule/NAME), or labels with -l, and not both")
	}
	if err := o.order.Check(); err != nil {
		return err
	}
	o.namespace, err = Where(o.args, o.Namespace())
	return err
}

// Run creates the Overrides, or deletes them with --end, and prints their effect.
func (o *Options) Run(ctx context.Context) error {
	q := source.Query{Namespace: o.namespace}
	if slices.ContainsFunc(o.args, ReachesAll) {
		q.Namespace = ""
	}
	w, err := o.Load(ctx, q)
	if err != nil {
		return o.blindly(ctx, err)
	}
	places, err := Places(w, o.args, o.selector, o.namespace)
	if err != nil {
		return o.blindly(ctx, err)
	}
	if o.order.Effect == v1alpha1.OverrideHold && !o.order.End {
		for _, p := range places {
			if err := CheckHold(w, p); err != nil {
				return err
			}
		}
	}
	effect, err := o.order.Of(ctx, w, places)
	if err != nil {
		return err
	}
	o.ShowNotes(w)
	if effect.DryRun = o.dryRun || o.Offline(); effect.DryRun {
		return o.show(effect)
	}
	cluster, err := o.Cluster()
	if err != nil {
		return err
	}
	if err := effect.Write(ctx, cluster.Client, factory.FieldManager, nil); err != nil {
		return err
	}
	if !o.wait {
		return o.show(effect)
	}
	return o.await(ctx, cluster, w, places, effect)
}

// show prints an effect. As YAML it prints the Overrides alone, ready for kubectl create.
func (o *Options) show(effect *Effect) error {
	if o.Format != printer.YAML {
		return o.Print(effect)
	}
	text, err := effect.Manifest()
	if err != nil {
		return err
	}
	_, err = o.Out.Write([]byte(text))
	return err
}

// blindly creates the Overrides without showing their effect. It does so if fault says that the rights to read the
// world are missing, and returns any other fault.
func (o *Options) blindly(ctx context.Context, fault error) error {
	missing := source.MissingRights(nil)
	if !errors.As(fault, &missing) || o.dryRun || o.wait || o.order.End || o.selector != "" {
		return fault
	}
	cluster, err := o.Cluster()
	if err != nil {
		return err
	}
	var places []Place
	for _, arg := range o.args {
		p, err := Resolve(cluster.Mapper, arg, o.namespace)
		if err != nil {
			return err
		}
		places = append(places, p)
	}
	effect := o.order.Blind(places)
	if err := effect.Write(ctx, cluster.Client, factory.FieldManager, nil); err != nil {
		return err
	}
	o.NoteMissing(missing)
	return o.show(effect)
}

// await waits until all objects are ready. For a person it first prints the changes, and then each object when it is
// ready.
func (o *Options) await(ctx context.Context, cluster source.Cluster, w *source.World, places []Place,
	effect *Effect) error {
	people := o.Format == printer.Table || o.Format == printer.Wide
	if people {
		if err := o.Print(effect); err != nil {
			return err
		}
	}
	p := o.StartProgress()
	defer p.Done()
	err := effect.Await(ctx, cluster.Client, w, places, o.timeout, p.Doing, func(ready string) {
		if people {
			p.Line(o.Out, ready+" is ready")
		}
	})
	if people {
		return err
	}
	return errors.Join(o.Print(effect), err)
}
