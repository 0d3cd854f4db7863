package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/world"
)

// exitLeft is the exit code of migrate if objects are left over.
const exitLeft = 2

// Options are the flags and arguments of migrate.
type Options struct {
	*factory.Factory
	factory.Manifests
	takeOver, apply, dryRun bool
	tools                   []Tool
	// sleeping is the input for finding objects that another tool has put to sleep. It equals in, except that objects of
	// the cluster take precedence over objects of files.
	sleeping *Input

	args []string
}

// New returns the verb migrate.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "migrate [TOOL...]",
		Short: "Convert the objects of other tools to Flyball's, and take over their sleeping objects",
		Long: fmt.Sprintf(
			`Reads the objects of other tools, from the cluster or from files, and prints Flyball's objects for them as YAML, with a comment on
every difference, every part left behind and every manual step. Every printed object is checked as in the manager.
Without names, all tools are looked for: %s.

The comments at the top are the complete steps in order, with commands to paste. They put nothing to sleep and wake nothing.

With --take-over, a tool's originals of sleeping workloads (in annotations or Secrets) move into Flyball's ledger, in one patch each,
and the tool's marks are removed. Stop the tool first, and apply the printed objects: an object that no policy puts to sleep is left
alone. Without --apply it is a dry run, which treats the printed policies as applied and lists the objects that would change their
state. A field that was changed since stays. A second run finds nothing to do.

Exit codes: 0 nothing is left behind, 1 an error, 2 something is left behind, or was not written.`,
			strings.Join(Names(Tools()), ", ")),
		Example: "  kubectl flyball migrate -A > flyball.yaml\n  kubectl flyball migrate kube-green --offline manifests/\n  kubectl " +
			"flyball migrate lightsout -A --take-over\n  kubectl flyball migrate lightsout -A --take-over --apply",
		ValidArgs: Names(Tools()),
	})
	o.AddAllFlag(cmd)
	o.AddFilenames(cmd, "Manifests of the tools' objects, instead of those in the cluster; - is standard input")
	cmd.Flags().BoolVar(&o.takeOver, "take-over", false, "Move the tools' originals of sleeping workloads into the ledger; a dry run")
	cmd.Flags().BoolVar(&o.apply, "apply", false, "With --take-over: write it")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "With --take-over: write nothing, which is the default")
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete(args []string) error {
	o.args = args
	return nil
}

// Validate implements factory.Verb.
func (o *Options) Validate() (err error) {
	switch {
	case o.apply && !o.takeOver:
		return errors.New("--apply goes with --take-over; without it, apply the printed objects with kubectl apply -f -")
	case o.apply && o.dryRun:
		return errors.New("--apply writes and --dry-run does not: give one of them")
	case o.apply && o.Offline():
		return errors.New("--apply writes to a cluster: leave --offline away")
	}
	o.tools, err = Pick(Tools(), o.args)
	return err
}

// Run prints the objects, or takes over.
func (o *Options) Run(ctx context.Context) error {
	in, lists, err := o.read(ctx)
	if err != nil {
		return err
	}
	out, err := Convert(o.tools, in, lists)
	if err != nil {
		return err
	}
	if o.takeOver {
		return o.runTakeOver(ctx, lists, out)
	}
	finding, err := NewFinding(out, o.tools)
	if err != nil {
		return err
	}
	return factory.Answer(o.PrintManifests(finding), len(finding.Left) > 0, exitLeft)
}

// read returns the input of the tools, and the world that receives their objects. Without a take-over, only the
// adapters of this world are used.
func (o *Options) read(ctx context.Context) (*Input, world.Lists, error) {
	namespace := o.Namespace()
	files := slices.Concat(o.Paths, o.World)
	in := &Input{Files: len(files) > 0}
	var m *source.Manifests
	if in.Files {
		var err error
		if m, err = o.Files(files, namespace).Read(); err != nil {
			return nil, world.Lists{}, err
		}
		in.Objects = o.objectsOf(m, namespace)
	}
	if o.Offline() {
		w, err := o.Files(files, namespace).World(m)
		if err != nil {
			return nil, world.Lists{}, err
		}
		o.sleeping = in
		return in, w.Lists, nil
	}
	return o.readCluster(ctx, in, o.Within())
}

// objectsOf returns the objects of files, each with its namespace.
func (o *Options) objectsOf(m *source.Manifests, namespace string) []Object {
	outside := map[schema.GroupKind]bool{{Kind: "Namespace"}: true}
	for _, k := range Kinds(o.tools, true) {
		outside[k.GroupKind] = k.Cluster
	}
	var all []Object
	for i, raw := range m.Others {
		obj := NewObject(raw, m.Place(i))
		u := &unstructured.Unstructured{}
		if obj.Namespace() == "" && !outside[obj.GroupKind()] && u.UnmarshalJSON(raw) == nil {
			u.SetNamespace(namespace)
			if placed, err := u.MarshalJSON(); err == nil {
				obj = NewObject(placed, m.Place(i))
			}
		}
		all = append(all, obj)
	}
	return all
}

// readCluster reads the tools' objects from the cluster, unless they come from files. For a take-over it also reads the world.
func (o *Options) readCluster(ctx context.Context, in *Input, namespace string) (*Input, world.Lists, error) {
	cluster, err := o.Cluster()
	if err != nil {
		return nil, world.Lists{}, err
	}
	p := o.StartProgress()
	defer p.Done()
	cluster.Progress = func(what string) { p.Doing("reading " + what) }
	lists, err := o.lists(ctx, cluster, namespace)
	if err != nil {
		return nil, lists, err
	}
	o.sleeping = &Input{}
	loaded := map[schema.GroupKind]bool{}
	if o.takeOver {
		for _, a := range lists.Adapters {
			loaded[schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}] = true
		}
		for _, raw := range lists.Objects {
			o.sleeping.Objects = append(o.sleeping.Objects, NewObject(raw, ""))
		}
	}
	var kinds []schema.GroupKind
	for _, k := range Kinds(o.tools, o.takeOver) {
		if !loaded[k.GroupKind] && (!in.Files || o.takeOver) {
			kinds = append(kinds, k.GroupKind)
		}
	}
	raws, err := cluster.Objects(ctx, kinds, namespace)
	if err != nil {
		return nil, lists, err
	}
	for _, raw := range raws {
		o.sleeping.Objects = append(o.sleeping.Objects, NewObject(raw, ""))
	}
	if !in.Files {
		in = o.sleeping
	}
	return in, lists, nil
}

// lists returns the world of the cluster for a take-over. Without a take-over it returns a world with only the
// library's adapters.
func (o *Options) lists(ctx context.Context, cluster source.Cluster, namespace string) (world.Lists, error) {
	if !o.takeOver {
		w, err := o.Files(nil, namespace).World(&source.Manifests{})
		if err != nil {
			return world.Lists{}, err
		}
		return w.Lists, nil
	}
	w, err := cluster.Load(ctx, source.Query{Namespace: namespace})
	if err != nil {
		return world.Lists{}, err
	}
	o.ShowNotes(w)
	return w.Lists, nil
}

// runTakeOver moves originals into the ledger. A dry run treats the printed policies as applied.
func (o *Options) runTakeOver(ctx context.Context, lists world.Lists, out *Output) error {
	found := &Handovers{DryRun: !o.apply}
	slept := &Output{}
	for i := range o.tools {
		if o.tools[i].Sleepers != nil {
			o.tools[i].Sleepers(o.sleeping, slept)
		}
	}
	found.Left = slept.Left
	if !o.apply {
		found.Unapplied = unapplied(out, lists)
		lists = out.Over(lists)
	}
	var err error
	if found.Items, err = TakeOver(lists, slept.Sleepers, o.Now()); err != nil {
		return err
	}
	if !o.apply {
		if found.Changes, err = StateChanges(lists, found.Items, printedPolicies(out), o.Now()); err != nil {
			return err
		}
	}
	if o.apply {
		if err := nameUnapplied(out, lists, slept.Sleepers, found.Items, o.Now()); err != nil {
			return err
		}
		cluster, err := o.Cluster()
		if err != nil {
			return err
		}
		p := o.StartProgress()
		err = handOver(ctx, cluster, lists, found.Items, func(target string) { p.Doing("writing " + target) })
		p.Done()
		if err != nil {
			return err
		}
	}
	return factory.Answer(o.Print(found), found.LeavesSomething(), exitLeft)
}
