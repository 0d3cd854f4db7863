package factory

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

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// Actions are the actions that freezes deny and exceptions allow.
var Actions = []string{"create", "delete", "rollout", "scale"}

// patience is the longest time for which a shell waits for suggestions.
const patience = 5 * time.Second

// values returns, by the name of a flag, a function that lists the possible values of the flag.
func (f *Factory) values() map[string]func(cmd *cobra.Command) []string {
	return map[string]func(*cobra.Command) []string{
		"output": func(cmd *cobra.Command) []string {
			formats := printer.Formats()
			if own := cmd.Annotations[MoreFormats]; own != "" {
				formats = append(formats, own)
			}
			return formats
		},
		"namespace": f.namespaces, "flyball-namespace": f.namespaces,
		"context":   func(*cobra.Command) []string { return keysOf(f.kubeconfig().Contexts) },
		"cluster":   func(*cobra.Command) []string { return keysOf(f.kubeconfig().Clusters) },
		"user":      func(*cobra.Command) []string { return keysOf(f.kubeconfig().AuthInfos) },
		"time-zone": func(*cobra.Command) []string { return zoneNames() },
		"allow":     func(*cobra.Command) []string { return Actions },
		"policies":  f.freezes,
	}
}

// CompleteFlags adds completion to the flags of a command and of all its subcommands. A flag with several values expects commas
// between the values.
func (f *Factory) CompleteFlags(cmd *cobra.Command) {
	values := f.values()
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
		f.CompleteFlags(c)
	}
}

// beginning returns the names that begin with the typed text.
func beginning(names []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(v string) bool { return !strings.HasPrefix(v, typed) })
}

// List completes the last name of a comma-separated list.
func List(names []string, typed string) []string {
	end := strings.LastIndex(typed, ",") + 1
	return prefixed(typed[:end], beginning(names, typed[end:]))
}

// prefixed puts a prefix before each name. It changes the given slice.
func prefixed(prefix string, names []string) []string {
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
func (f *Factory) kubeconfig() clientcmdapi.Config {
	config, err := f.Connection.Loader().RawConfig()
	if err != nil {
		return clientcmdapi.Config{}
	}
	return config
}

// namespaces returns the names of the cluster's namespaces. Offline it returns the namespaces of
// the files.
func (f *Factory) namespaces(cmd *cobra.Command) (names []string) {
	if f.ready("") != nil {
		return nil
	}
	if !f.Offline() {
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		cluster, err := f.Cluster()
		if err != nil {
			return nil
		}
		objects, err := cluster.Objects(ctx, []schema.GroupKind{{Kind: "Namespace"}}, "")
		if err != nil {
			return nil
		}
		for _, raw := range objects {
			names = append(names, source.RefOf(raw).Name)
		}
	} else if w := f.policies(cmd); w != nil {
		for _, ns := range w.Namespaces {
			names = append(names, ns.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// policies reads a world with the policies of a command line. It returns nil if the policies cannot be read.
func (f *Factory) policies(cmd *cobra.Command) *source.World {
	if f.ready("") != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), patience)
	defer cancel()
	w, err := f.Read(ctx, source.Query{Namespace: f.Namespace(), PoliciesOnly: true})
	if err != nil {
		return nil
	}
	return w
}

// freezes returns the freezes and maintenance windows that an exception may lift, as Kind/name.
func (f *Factory) freezes(cmd *cobra.Command) (names []string) {
	w := f.policies(cmd)
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
