package cli

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strings"

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

// actionNames are the actions that freezes deny and exceptions allow.
var actionNames = []string{"create", "delete", "rollout", "scale"}

// valuesOf returns, by the name of a flag, a function that lists the values that the flag may have. A flag of several values takes them
// with commas between.
func (s *session) valuesOf() map[string]func(cmd *cobra.Command) []string {
	return map[string]func(*cobra.Command) []string{
		"output": func(cmd *cobra.Command) []string {
			formats := report.Formats()
			if own := cmd.Annotations[moreFormats]; own != "" {
				formats = append(formats, own)
			}
			return formats
		},
		"namespace": s.namespaceNames, "flyball-namespace": s.namespaceNames,
		"context":   func(*cobra.Command) []string { return keysOf(s.kubeconfig().Contexts) },
		"cluster":   func(*cobra.Command) []string { return keysOf(s.kubeconfig().Clusters) },
		"user":      func(*cobra.Command) []string { return keysOf(s.kubeconfig().AuthInfos) },
		"time-zone": func(*cobra.Command) []string { return zoneNames() },
		"allow":     func(*cobra.Command) []string { return actionNames },
		"policies":  s.freezeNames,
	}
}

// completeFlags has the flags of a command, and of all below it, suggest their values.
func (s *session) completeFlags(cmd *cobra.Command) {
	values := s.valuesOf()
	suggest := func(f *pflag.Flag) {
		list := values[f.Name]
		if list == nil {
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			before, last := "", typed
			if i := strings.LastIndex(typed, ","); i >= 0 && strings.HasSuffix(f.Value.Type(), "Slice") {
				before, last = typed[:i+1], typed[i+1:]
			}
			all := slices.DeleteFunc(slices.Clone(list(cmd)), func(v string) bool { return !strings.HasPrefix(v, last) })
			return prefixed(before, all), cobra.ShellCompDirectiveNoFileComp
		})
	}
	cmd.LocalNonPersistentFlags().VisitAll(suggest)
	if !cmd.HasParent() {
		cmd.PersistentFlags().VisitAll(suggest)
	}
	for _, c := range cmd.Commands() {
		s.completeFlags(c)
	}
}

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

// kubeconfig is what the kubeconfig says; nothing where it cannot be read.
func (s *session) kubeconfig() clientcmdapi.Config {
	config, err := s.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return clientcmdapi.Config{}
	}
	return config
}

// namespaceNames are the namespaces of the cluster, or of the files.
func (s *session) namespaceNames(cmd *cobra.Command) (names []string) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	if !s.offline {
		cluster, err := s.cluster()
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
	} else if w := s.policiesOnly(cmd); w != nil {
		for _, ns := range w.Namespaces {
			names = append(names, ns.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// policiesOnly reads the policies that a command line is about; nil where they cannot be read.
func (s *session) policiesOnly(cmd *cobra.Command) *source.World {
	if s.complete(cmd.Annotations[moreFormats]) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	files, _ := cmd.Flags().GetStringSlice("filename")
	w, err := s.load(ctx, source.Query{Namespace: s.namespace(), PoliciesOnly: true}, files)
	if err != nil {
		return nil
	}
	return w
}

// freezeNames are the freezes and maintenance windows that an exception may lift, as Kind/name.
func (s *session) freezeNames(cmd *cobra.Command) (names []string) {
	w := s.policiesOnly(cmd)
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

// zoneTables are where systems list their time zones, a line each: country, place, name.
var zoneTables = []string{"/usr/share/zoneinfo/zone1970.tab", "/usr/share/zoneinfo/zone.tab", "/usr/share/lib/zoneinfo/tab/zone_sun.tab"}

// zoneNames are the time zones that this machine knows by name.
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
