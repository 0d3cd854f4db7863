package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/draft"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/path/rawjson"
)

func newAdapter(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "adapter", Short: "Draft, check, try and test adapters, and print the needed rights"}
	cmd.AddCommand(newAdapterNew(s), newAdapterCheck(s), newAdapterTry(s), newAdapterTest(s), newAdapterRBAC(s))
	return cmd
}

func newAdapterNew(s *session) *cobra.Command {
	var m manifests
	into := ""
	cmd := &cobra.Command{
		Use:   "new RESOURCE",
		Short: "Draft an adapter from the CustomResourceDefinition of a kind",
		Long: `Drafts an adapter from the CustomResourceDefinition of a kind, named by its plural and group or by its kind: counts, switches, bounds,
the pod template. Comments mark guesses with their reasons, missing parts, and unused numbers and switches. With -f
the definition is read from files. With --into, a directory gets the draft and a test case for each capability: adapter test DIR --update
runs them and writes their golden files.`,
		Example: "  kubectl flyball adapter new rayclusters.ray.io > adapter.yaml\n  kubectl flyball adapter new rayclusters.ray.io --into " +
			"adapters/raycluster\n  kubectl flyball adapter new RayCluster -f crds/",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			crds, err := s.definitions(cmd.Context(), m.paths)
			if err != nil {
				return err
			}
			crd, err := draft.PickDefinition(crds, args[0])
			if err != nil {
				return err
			}
			d, err := draft.Of(crd)
			if err != nil {
				return err
			}
			if into == "" {
				return s.printManifests(d)
			}
			files, err := d.WriteTo(into)
			if err != nil {
				return err
			}
			return s.print(draft.Written{Dir: into, Files: files})
		},
	}
	m.addFlags(cmd, "Files or directories with CustomResourceDefinitions, instead of the cluster's")
	cmd.Flags().StringVar(&into, "into", "", "Directory to write the draft into, with a test case for each capability, instead of printing it")
	_ = cmd.MarkFlagDirname("into")
	return cmd
}

// definitions returns the CustomResourceDefinitions of files or of the cluster.
func (s *session) definitions(ctx context.Context, files []string) ([][]byte, error) {
	if files = append(files, s.world...); len(files) > 0 {
		m, err := s.files(files, "").Read()
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(m.Others, func(raw []byte) bool { return rawjson.GetBytes(raw, "kind").Str != "CustomResourceDefinition" }), nil
	}
	cluster, err := s.cluster()
	if err != nil {
		return nil, err
	}
	return cluster.Objects(ctx, []schema.GroupKind{{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}}, "")
}

// readAdapter reads a file with exactly one adapter.
func (s *session) readAdapter(file string) (*v1alpha1.Adapter, *adapter.Adapter, error) {
	m, err := s.files([]string{file}, "").Read()
	if err != nil {
		return nil, nil, err
	}
	if len(m.Adapters) != 1 {
		return nil, nil, fmt.Errorf("%s has %d adapters; give a file with one", file, len(m.Adapters))
	}
	if err := m.CheckAdapters(); err != nil {
		return nil, nil, err
	}
	compiled, _ := adapter.Compile(m.Adapters[0].Name, m.Adapters[0].Spec, adapter.Keys{}) // the adapter was checked above
	return m.Adapters[0], compiled, nil
}

func newAdapterCheck(s *session) *cobra.Command {
	specOnly := false
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check an adapter: the spec, and against a cluster the paths, types, /scale and your own rights",
		Long: `Checks an adapter: whether the spec compiles, with the line of each fault; and against a cluster whether the kind is served, each path
has the right type in the schema, a used /scale exists, and you have the rights of an author of the adapter.

Exit codes: 0 no fault, 1 a fault.`,
		Example: "  kubectl flyball adapter check adapter.yaml\n  kubectl flyball adapter check --spec-only adapter.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, compiled, err := s.readAdapter(args[0])
			if err != nil {
				return err
			}
			c := draft.CheckOf(compiled, specOnly)
			if !specOnly {
				config, err := s.restConfig()
				if err != nil {
					return err
				}
				if err := c.Live(cmd.Context(), config, compiled); err != nil {
					return err
				}
			}
			return answer(s.print(c), len(c.Problems) > 0, exitError)
		},
	}
	cmd.Flags().BoolVar(&specOnly, "spec-only", false, "Only the spec; ask no cluster")
	return cmd
}

func newAdapterTry(s *session) *cobra.Command {
	var m manifests
	write, within := false, 2*time.Minute
	cmd := &cobra.Command{
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
		RunE: func(cmd *cobra.Command, args []string) error {
			a, _, err := s.readAdapter(args[0])
			if err != nil {
				return err
			}
			raw, err := s.objectFor(cmd.Context(), a, args[1], m.paths)
			if err != nil {
				return err
			}
			trial, err := draft.Try(a, raw)
			if err != nil {
				return err
			}
			if write && trial.Sleep != nil {
				_, name, _ := strings.Cut(args[1], "/")
				if trial.Answers, err = s.ask(cmd.Context(), &draft.Live{Adapter: a, Name: name, Within: within}); err != nil {
					return err
				}
			}
			return answer(s.print(trial), !trial.IsGood(), exitError)
		},
	}
	m.addFlags(cmd, "Manifest of the object, instead of the object in the cluster")
	cmd.Flags().BoolVar(&write, "write", false, "Put the object in the cluster to sleep, ask its operator, and wake the object")
	cmd.Flags().DurationVar(&within, "within", within, "Longest time for the operator to follow, in each direction, with --write")
	cmd.MarkFlagsMutuallyExclusive("write", "filename")
	return cmd
}

// ask tries an adapter on an object of the cluster.
func (s *session) ask(ctx context.Context, l *draft.Live) ([]draft.Answer, error) {
	config, err := s.restConfig()
	if err != nil {
		return nil, err
	}
	if l.Writer, err = apply.NewWriter(config, nil, logr.Discard()); err != nil {
		return nil, err
	}
	if l.Cluster, err = s.cluster(); err != nil {
		return nil, err
	}
	l.Namespace = s.namespace()
	return l.Ask(ctx)
}

// calls reports whether a name given by the user means the kind of an adapter. The name may be the kind, the plural, or
// a short name known to the cluster, unless the object comes from files.
func (s *session) calls(a *v1alpha1.Adapter, name string, fromFiles bool) bool {
	resource := schema.ParseGroupResource(a.Name)
	if strings.EqualFold(name, a.Spec.Target.Kind) || strings.EqualFold(name, resource.Resource) || strings.EqualFold(name, a.Name) {
		return true
	}
	if fromFiles {
		return false
	}
	mapper, err := s.config.mapper()
	if err != nil {
		return false
	}
	found, err := mapper.ResourceFor(schema.ParseGroupResource(strings.ToLower(name)).WithVersion(""))
	return err == nil && found.GroupResource() == resource
}

// objectFor reads one object of an adapter's kind. The adapter does not have to be applied to the cluster.
func (s *session) objectFor(ctx context.Context, a *v1alpha1.Adapter, arg string, files []string) ([]byte, error) {
	files = append(files, s.world...)
	kind, name, ok := strings.Cut(arg, "/")
	if !ok || !s.calls(a, kind, len(files) > 0) {
		return nil, fmt.Errorf("%q is no object of the adapter's kind: give %s/NAME", arg, strings.ToLower(a.Spec.Target.Kind))
	}
	namespace := s.namespace()
	if len(files) > 0 {
		m, err := s.files(files, namespace).Read()
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
	cluster, err := s.cluster()
	if err != nil {
		return nil, err
	}
	return draft.Object(ctx, cluster, a, namespace, name)
}

func newAdapterRBAC(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "rbac FILE",
		Short:   "Print the manager's ClusterRole for an adapter",
		Example: "  kubectl flyball adapter rbac adapter.yaml | kubectl apply -f -",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			_, compiled, err := s.readAdapter(args[0])
			if err != nil {
				return err
			}
			return s.print(draft.RightsOf(compiled))
		},
	}
}
