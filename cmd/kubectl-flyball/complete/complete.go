// Package complete completes the values of flags: formats, namespaces, contexts, time zones, actions and freezes.
package complete

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// Actions are the actions that freezes deny and exceptions allow.
var Actions = []string{"create", "delete", "rollout", "scale"}

// within is the longest time for which a shell waits for suggestions.
const within = 5 * time.Second

// Session is the command line whose flags are completed. Its functions are called only when a shell asks for
// suggestions.
type Session struct {
	// Ready reads the flags given so far.
	Ready func() error
	// Load reads a world. If the session is offline, it reads files.
	Load func(ctx context.Context, q source.Query) (*source.World, error)
	// Cluster returns the reader of the cluster, or nil if the session is offline.
	Cluster func() *source.Cluster
	// Namespace returns the namespace of -n or of the context.
	Namespace func() string
	// Kubeconfig reads the kubeconfig.
	Kubeconfig func() (clientcmdapi.Config, error)
	// OwnFormat is the annotation of verbs with an additional output format. The annotation's value is this format.
	OwnFormat string
}

// values returns, by the name of a flag, a function that lists the possible values of the flag.
func (s Session) values() map[string]func(cmd *cobra.Command) []string {
	return map[string]func(*cobra.Command) []string{
		"output": func(cmd *cobra.Command) []string {
			formats := report.Formats()
			if own := cmd.Annotations[s.OwnFormat]; own != "" {
				formats = append(formats, own)
			}
			return formats
		},
		"namespace": s.Namespaces, "flyball-namespace": s.Namespaces,
		"context":   func(*cobra.Command) []string { return keysOf(s.kubeconfig().Contexts) },
		"cluster":   func(*cobra.Command) []string { return keysOf(s.kubeconfig().Clusters) },
		"user":      func(*cobra.Command) []string { return keysOf(s.kubeconfig().AuthInfos) },
		"time-zone": func(*cobra.Command) []string { return zoneNames() },
		"allow":     func(*cobra.Command) []string { return Actions },
		"policies":  s.freezes,
	}
}

// Flags adds completion to the flags of a command and of all its subcommands. A flag with several values expects commas
// between the values.
func (s Session) Flags(cmd *cobra.Command) {
	values := s.values()
	suggest := func(f *pflag.Flag) {
		list := values[f.Name]
		if list == nil || f.Value.Type() == "bool" {
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			if strings.HasSuffix(f.Value.Type(), "Slice") {
				return List(list(cmd), typed), cobra.ShellCompDirectiveNoFileComp
			}
			return beginning(list(cmd), typed), cobra.ShellCompDirectiveNoFileComp
		})
	}
	cmd.LocalNonPersistentFlags().VisitAll(suggest)
	if !cmd.HasParent() {
		cmd.PersistentFlags().VisitAll(suggest)
	}
	for _, c := range cmd.Commands() {
		s.Flags(c)
	}
}

// beginning returns the names that begin with the typed text.
func beginning(names []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(v string) bool { return !strings.HasPrefix(v, typed) })
}

// List completes the last name of a comma-separated list.
func List(names []string, typed string) []string {
	end := strings.LastIndex(typed, ",") + 1
	return Prefixed(typed[:end], beginning(names, typed[end:]))
}

// Prefixed puts a prefix before each name. It changes the given slice.
func Prefixed(prefix string, names []string) []string {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

func keysOf[T any](m map[string]T) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// kubeconfig returns the kubeconfig, or an empty one if it cannot be read.
func (s Session) kubeconfig() clientcmdapi.Config {
	config, err := s.Kubeconfig()
	if err != nil {
		return clientcmdapi.Config{}
	}
	return config
}

// Namespaces returns the names of the cluster's namespaces. If the session is offline, it returns the namespaces of the
// files.
func (s Session) Namespaces(cmd *cobra.Command) (names []string) {
	if s.Ready() != nil {
		return nil
	}
	if cluster := s.Cluster(); cluster != nil {
		ctx, cancel := context.WithTimeout(cmd.Context(), within)
		defer cancel()
		objects, err := cluster.Objects(ctx, []schema.GroupKind{{Kind: "Namespace"}}, "")
		if err != nil {
			return nil
		}
		for _, raw := range objects {
			names = append(names, source.RefOf(raw).Name)
		}
	} else if w := s.policies(cmd); w != nil {
		for _, ns := range w.Namespaces {
			names = append(names, ns.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// policies reads a world with the policies of a command line. It returns nil if the policies cannot be read.
func (s Session) policies(cmd *cobra.Command) *source.World {
	if s.Ready() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), within)
	defer cancel()
	w, err := s.Load(ctx, source.Query{Namespace: s.Namespace(), PoliciesOnly: true})
	if err != nil {
		return nil
	}
	return w
}

// freezes returns the freezes and maintenance windows that an exception may lift, as Kind/name.
func (s Session) freezes(cmd *cobra.Command) (names []string) {
	w := s.policies(cmd)
	if w == nil {
		return nil
	}
	lifted := []string{freeze.Kind, freeze.ClusterKind, freeze.WindowKind, freeze.ClusterWindowKind}
	slices.SortFunc(w.Policies, func(a, b policy.Object) int { return workload.Policy.Compare(source.IDOf(a), source.IDOf(b)) })
	for _, p := range w.Policies {
		if id := source.IDOf(p); slices.Contains(lifted, id.Kind) {
			names = append(names, id.Kind+"/"+id.Name)
		}
	}
	return names
}

// zoneTables are the files in which operating systems list their time zones. Each line has a country, a place and the
// name of the zone.
var zoneTables = []string{"/usr/share/zoneinfo/zone1970.tab", "/usr/share/zoneinfo/zone.tab", "/usr/share/lib/zoneinfo/tab/zone_sun.tab"}

// zoneNames returns the names of the machine's time zones.
func zoneNames() []string {
	names := []string{"Local", "UTC"}
	for _, table := range zoneTables {
		file, err := os.Open(table)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if fields := strings.Split(lines.Text(), "\t"); len(fields) > 2 && !strings.HasPrefix(fields[0], "#") {
				names = append(names, fields[2])
			}
		}
		_ = file.Close()
		break
	}
	slices.Sort(names)
	return names
}
