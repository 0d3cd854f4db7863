package adapter

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/engine/path/rawjson"
)

// NewOptions are the flags and arguments of adapter new.
type NewOptions struct {
	Options
	factory.Manifests
	into string
}

func newNew(f *factory.Factory) *cobra.Command {
	o := &NewOptions{Options: Options{Factory: f}}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "new RESOURCE",
		Short: "Draft an adapter from the CustomResourceDefinition of a kind",
		Long: "Drafts an adapter from the CustomResourceDefinition of a kind, named by its plural and group or by " +
			`its kind: counts, switches, bounds,
the pod template. Comments mark guesses with their reasons, missing parts, and unused numbers and switches. With -f
the definition is read from files. With --into, a directory gets the draft and a test case for each capability: adapter test DIR --update
runs them and writes their golden files.`,
		Example: "  kubectl flyball adapter new rayclusters.ray.io > adapter.yaml\n  kubectl flyball adapter new rayclusters.ray.io --into " +
			"adapters/raycluster\n  kubectl flyball adapter new RayCluster -f crds/",
		Args: cobra.ExactArgs(1),
	})
	o.AddFilenames(cmd, "Files or directories with CustomResourceDefinitions, instead of the cluster's")
	cmd.Flags().StringVar(&o.into, "into", "",
		"Directory to write the draft into, with a test case for each capability, instead of printing it")
	_ = cmd.MarkFlagDirname("into")
	return cmd
}

// Run drafts the adapter.
func (o *NewOptions) Run(ctx context.Context) error {
	crds, err := o.definitions(ctx)
	if err != nil {
		return err
	}
	crd, err := PickDefinition(crds, o.args[0])
	if err != nil {
		return err
	}
	d, err := Of(crd)
	if err != nil {
		return err
	}
	if o.into == "" {
		return o.PrintManifests(d)
	}
	files, err := d.WriteTo(o.into)
	if err != nil {
		return err
	}
	return o.Print(Written{Dir: o.into, Files: files})
}

// definitions returns the CustomResourceDefinitions of files or of the cluster.
func (o *NewOptions) definitions(ctx context.Context) ([][]byte, error) {
	if files := slices.Concat(o.Paths, o.World); len(files) > 0 {
		m, err := o.Files(files, "").Read()
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(m.Others, func(raw []byte) bool { return rawjson.GetBytes(raw, "kind").Str != "CustomResourceDefinition" }), nil
	}
	cluster, err := o.Cluster()
	if err != nil {
		return nil, err
	}
	return cluster.Objects(ctx, []schema.GroupKind{{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}}, "")
}
