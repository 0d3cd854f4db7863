package adapter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/path/rawjson"
)

// TryOptions are the flags and arguments of adapter try.
type TryOptions struct {
	Options
	factory.Manifests
	write  bool
	within time.Duration
}

func newTry(f *factory.Factory) *cobra.Command {
	o := &TryOptions{Options: Options{Factory: f}}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "try FILE KIND/NAME",
		Short: "Put an object to sleep and wake the object, in memory or with --write, and show both patches",
		Long: `Puts an object to sleep by an adapter, and wakes the object, in memory, and shows both patches. Nothing is written.

With --write the object itself sleeps for a moment, to ask its operator: who changes fields back, whether its pods end and come back,
whether an absent switch wakes it or only false does, whether ready holds too early, and whether a pause of its owner keeps it awake.
Each answer that asks for a change names the field of the adapter. Clocks that go on are in no answer.

Exit codes: 0 waking restores the object, 1 a difference remains, an answer asks for a change of the adapter, or an error.`,
		Example: "  kubectl flyball adapter try adapter.yaml raycluster/demo\n  kubectl flyball adapter try adapter.yaml raycluster/demo " +
			"-f object.yaml\n  kubectl flyball adapter try adapter.yaml raycluster/demo --write",
		Args: cobra.ExactArgs(2),
	})
	o.AddFilenames(cmd, "Manifest of the object, instead of the object in the cluster")
	cmd.Flags().BoolVar(&o.write, "write", false, "Put the object in the cluster to sleep, ask its operator, and wake the object")
	cmd.Flags().DurationVar(&o.within, "within", 2*time.Minute, "Longest time for the operator to follow, in each direction, with --write")
	cmd.MarkFlagsMutuallyExclusive("write", "filename")
	return cmd
}

// Run tries the adapter on the object.
func (o *TryOptions) Run(ctx context.Context) error {
	a, _, err := o.read()
	if err != nil {
		return err
	}
	raw, err := o.object(ctx, a, o.args[1])
	if err != nil {
		return err
	}
	trial, err := Try(a, raw)
	if err != nil {
		return err
	}
	if o.write && trial.Sleep != nil {
		_, name, _ := strings.Cut(o.args[1], "/")
		if trial.Answers, err = o.ask(ctx, &Live{Adapter: a, Name: name, Within: o.within}); err != nil {
			return err
		}
	}
	return factory.Answer(o.Print(trial), !trial.IsGood(), factory.ExitError)
}

// ask tries an adapter on an object of the cluster.
func (o *TryOptions) ask(ctx context.Context, l *Live) ([]Answer, error) {
	config, err := o.RestConfig()
	if err != nil {
		return nil, err
	}
	if l.Writer, err = apply.NewWriter(config, nil, logr.Discard()); err != nil {
		return nil, err
	}
	if l.Cluster, err = o.Cluster(); err != nil {
		return nil, err
	}
	l.Namespace = o.Namespace()
	return l.Ask(ctx)
}

// object reads one object of an adapter's kind, as KIND/NAME. The adapter does not have to be applied to the cluster.
func (o *TryOptions) object(ctx context.Context, a *v1alpha1.Adapter, arg string) ([]byte, error) {
	files := slices.Concat(o.Paths, o.World)
	kind, name, ok := strings.Cut(arg, "/")
	if !ok || !o.calls(a, kind, len(files) > 0) {
		return nil, fmt.Errorf("%q is no object of the adapter's kind: give %s/NAME", arg, strings.ToLower(a.Spec.Target.Kind))
	}
	namespace := o.Namespace()
	if len(files) > 0 {
		m, err := o.Files(files, namespace).Read()
		if err != nil {
			return nil, err
		}
		for _, raw := range m.Others {
			if rawjson.GetBytes(raw, "kind").Str == a.Spec.Target.Kind && rawjson.GetBytes(raw, "metadata.name").Str == name {
				return raw, nil
			}
		}
		return nil, fmt.Errorf("there is no %s in the files; give its manifest with -f", arg)
	}
	cluster, err := o.Cluster()
	if err != nil {
		return nil, err
	}
	return Object(ctx, cluster, a, namespace, name)
}

// calls reports whether a name given by the user means the kind of an adapter. The name may be the kind, the plural, or
// a short name known to the cluster, unless the object comes from files.
func (o *TryOptions) calls(a *v1alpha1.Adapter, name string, fromFiles bool) bool {
	resource := schema.ParseGroupResource(a.Name)
	if strings.EqualFold(name, a.Spec.Target.Kind) || strings.EqualFold(name, resource.Resource) || strings.EqualFold(name, a.Name) {
		return true
	}
	if fromFiles {
		return false
	}
	mapper, err := o.Connection.Mapper()
	if err != nil {
		return false
	}
	found, err := mapper.ResourceFor(schema.ParseGroupResource(strings.ToLower(name)).WithVersion(""))
	return err == nil && found.GroupResource() == resource
}
