package cli

import (
	"strings"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"flyball.dev/flyball/cmd/kubectl-flyball/complete"
	"flyball.dev/flyball/cmd/kubectl-flyball/override"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// completeTargets completes KIND/ and, after the slash, names.
func (s *session) completeTargets(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && !isKind(args) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return words(args, typed, func(typed string) ([]string, cobra.ShellCompDirective) {
		return s.suggestions().Objects(cmd, typed, nil)
	})
}

// isKind reports whether the arguments begin with a kind alone, as in deployment web.
func isKind(args []string) bool { return len(args) > 0 && !strings.Contains(args[0], "/") }

// words completes KIND/NAME by a function, and NAME alone after a kind.
func words(args []string, typed string, list func(typed string) ([]string, cobra.ShellCompDirective)) ([]string, cobra.ShellCompDirective) {
	if !isKind(args) {
		return list(typed)
	}
	all, directive := list(args[0] + "/" + typed)
	var names []string
	for _, text := range all {
		if name, ok := strings.CutPrefix(text, args[0]+"/"); ok {
			names = append(names, name)
		}
	}
	return names, directive
}

// completeObjects completes any number of objects.
func (s *session) completeObjects(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return words(args, typed, func(typed string) ([]string, cobra.ShellCompDirective) {
		return s.suggestions().Objects(cmd, typed, nil)
	})
}

// completePlaces completes any number of objects, namespaces and schedules that can be kept awake.
func (s *session) completePlaces(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return words(args, typed, func(typed string) ([]string, cobra.ShellCompDirective) {
		return s.suggestions().Objects(cmd, typed, override.Names)
	})
}

// suggestions returns the session of package complete, which completes the values of flags.
func (s *session) suggestions() complete.Session {
	return complete.Session{
		Ready: func() error { return s.complete("") }, Load: s.read, Namespace: s.namespace, OwnFormat: moreFormats,
		Kubeconfig: func() (clientcmdapi.Config, error) { return s.config.loader().RawConfig() },
		Cluster: func() *source.Cluster {
			if s.offline() {
				return nil
			}
			if cluster, err := s.cluster(); err == nil {
				return &cluster
			}
			return nil
		},
	}
}
