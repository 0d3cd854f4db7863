package cli

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

	"flyball.dev/flyball/cmd/kubectl-flyball/migrate"
	"flyball.dev/flyball/cmd/kubectl-flyball/migrate/tools"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/world"
)

// exitLeft is the exit code of migrate if objects are left over.
const exitLeft = 2

type migrateVerb struct {
	*factory.Factory
	factory.Manifests
	takeOver, apply, dryRun bool
	tools                   []migrate.Tool
	// sleeping is the input for finding objects that another tool has put to sleep. It equals in, except that objects of
	// the cluster take precedence over objects of files.
	sleeping *migrate.Input
}

func newMigrate(s *factory.Factory) *cobra.Command {
	v := &migrateVerb{Factory: s}
	cmd := &cobra.Command{
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

Exit codes: 0 nothing is left behind, 1 an error, 2 something is left behind, or was not written.`, strings.Join(migrate.Names(tools.All()), ", ")),
		Example: "  kubectl flyball migrate -A > flyball.yaml\n  kubectl flyball migrate kube-green --offline manifests/\n  kubectl " +
			"flyball migrate lightsout -A --take-over\n  kubectl flyball migrate lightsout -A --take-over --apply",
		ValidArgs: migrate.Names(tools.All()),
		RunE:      func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
	}
	v.AddAllFlag(cmd)
	v.AddFilenames(cmd, "Manifests of the tools' objects, instead of those in the cluster; - is standard input")
	cmd.Flags().BoolVar(&v.takeOver, "take-over", false, "Move what the tools keep of sleeping workloads into the ledger; a dry run")
	cmd.Flags().BoolVar(&v.apply, "apply", false, "With --take-over: write it")
	cmd.Flags().BoolVar(&v.dryRun, "dry-run", false, "With --take-over: write nothing, which is the default")
	return cmd
}

func (v *migrateVerb) run(ctx context.Context, args []string) error {
	var err error
	switch {
	case v.apply && !v.takeOver:
		return errors.New("--apply goes with --take-over; without it, apply the printed objects with kubectl apply -f -")
	case v.apply && v.dryRun:
		return errors.New("--apply writes and --dry-run does not: give one of them")
	case v.apply && v.Offline():
		return errors.New("--apply writes to a cluster: leave --offline away")
	}
	if v.tools, err = migrate.Pick(tools.All(), args); err != nil {
		return err
	}
	in, lists, err := v.read(ctx)
	if err != nil {
		return err
	}
	out, err := migrate.Run(v.tools, in, lists)
	if err != nil {
		return err
	}
	if v.takeOver {
		return v.runTakeOver(ctx, lists, out)
	}
	finding, err := migrate.NewFinding(out, v.tools)
	if err != nil {
		return err
	}
	return factory.Answer(v.PrintManifests(finding), len(finding.Left) > 0, exitLeft)
}

// read returns the input of the tools, and the world that receives their objects. Without a take-over, only the
// adapters of this world are used.
func (v *migrateVerb) read(ctx context.Context) (*migrate.Input, world.Lists, error) {
	namespace := v.Namespace()
	files := slices.Concat(v.Paths, v.World)
	in := &migrate.Input{Files: len(files) > 0}
	var m *source.Manifests
	if in.Files {
		var err error
		if m, err = v.Files(files, namespace).Read(); err != nil {
			return nil, world.Lists{}, err
		}
		in.Objects = v.objectsOf(m, namespace)
	}
	if v.Offline() {
		w, err := v.Files(files, namespace).World(m)
		if err != nil {
			return nil, world.Lists{}, err
		}
		v.sleeping = in
		return in, w.Lists, nil
	}
	return v.readCluster(ctx, in, v.Within())
}

// objectsOf returns the objects of files, each with its namespace.
func (v *migrateVerb) objectsOf(m *source.Manifests, namespace string) []migrate.Object {
	outside := map[schema.GroupKind]bool{{Kind: "Namespace"}: true}
	for _, k := range migrate.Kinds(v.tools, true) {
		outside[k.GroupKind] = k.Cluster
	}
	var all []migrate.Object
	for i, raw := range m.Others {
		o := migrate.NewObject(raw, m.Place(i))
		u := &unstructured.Unstructured{}
		if o.Namespace() == "" && !outside[o.GroupKind()] && u.UnmarshalJSON(raw) == nil {
			u.SetNamespace(namespace)
			if placed, err := u.MarshalJSON(); err == nil {
				o = migrate.NewObject(placed, m.Place(i))
			}
		}
		all = append(all, o)
	}
	return all
}

// readCluster reads the tools' objects from the cluster, unless they come from files. For a take-over it also reads the world.
func (v *migrateVerb) readCluster(ctx context.Context, in *migrate.Input, namespace string) (*migrate.Input, world.Lists, error) {
	cluster, err := v.Cluster()
	if err != nil {
		return nil, world.Lists{}, err
	}
	p := v.StartProgress()
	defer p.Done()
	cluster.Progress = func(what string) { p.Doing("reading " + what) }
	lists, err := v.lists(ctx, cluster, namespace)
	if err != nil {
		return nil, lists, err
	}
	v.sleeping = &migrate.Input{}
	loaded := map[schema.GroupKind]bool{}
	if v.takeOver {
		for _, a := range lists.Adapters {
			loaded[schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}] = true
		}
		for _, raw := range lists.Objects {
			v.sleeping.Objects = append(v.sleeping.Objects, migrate.NewObject(raw, ""))
		}
	}
	var kinds []schema.GroupKind
	for _, k := range migrate.Kinds(v.tools, v.takeOver) {
		if !loaded[k.GroupKind] && (!in.Files || v.takeOver) {
			kinds = append(kinds, k.GroupKind)
		}
	}
	raws, err := cluster.Objects(ctx, kinds, namespace)
	if err != nil {
		return nil, lists, err
	}
	for _, raw := range raws {
		v.sleeping.Objects = append(v.sleeping.Objects, migrate.NewObject(raw, ""))
	}
	if !in.Files {
		in = v.sleeping
	}
	return in, lists, nil
}

// lists returns the world of the cluster for a take-over. Without a take-over it returns a world with only the
// library's adapters.
func (v *migrateVerb) lists(ctx context.Context, cluster source.Cluster, namespace string) (world.Lists, error) {
	if !v.takeOver {
		w, err := v.Files(nil, namespace).World(&source.Manifests{})
		if err != nil {
			return world.Lists{}, err
		}
		return w.Lists, nil
	}
	w, err := cluster.Load(ctx, source.Query{Namespace: namespace})
	if err != nil {
		return world.Lists{}, err
	}
	v.ShowNotes(w)
	return w.Lists, nil
}

// runTakeOver moves originals into the ledger. A dry run treats the printed policies as applied.
func (v *migrateVerb) runTakeOver(ctx context.Context, lists world.Lists, out *migrate.Output) error {
	found := &migrate.Handovers{DryRun: !v.apply}
	slept := &migrate.Output{}
	for i := range v.tools {
		if v.tools[i].Sleepers != nil {
			v.tools[i].Sleepers(v.sleeping, slept)
		}
	}
	found.Left = slept.Left
	if !v.apply {
		found.Unapplied = unapplied(out, lists)
		lists = out.Over(lists)
	}
	var err error
	if found.Items, err = migrate.TakeOver(lists, slept.Sleepers, v.Now()); err != nil {
		return err
	}
	if !v.apply {
		if found.Changes, err = migrate.StateChanges(lists, found.Items, printedPolicies(out), v.Now()); err != nil {
			return err
		}
	}
	if v.apply {
		if err := nameUnapplied(out, lists, slept.Sleepers, found.Items, v.Now()); err != nil {
			return err
		}
		cluster, err := v.Cluster()
		if err != nil {
			return err
		}
		p := v.StartProgress()
		err = handOver(ctx, cluster, lists, found.Items, func(target string) { p.Doing("writing " + target) })
		p.Done()
		if err != nil {
			return err
		}
	}
	return factory.Answer(v.Print(found), found.LeavesSomething(), exitLeft)
}
