package cli

import (
	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"flyball.dev/flyball/cmd/kubectl-flyball/complete"
	"flyball.dev/flyball/cmd/kubectl-flyball/override"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// completeTargets completes KIND/ and, after the slash, names.
func (s *session) completeTargets(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	return s.suggestions().Objects(cmd, typed, nil)
}

func (s *session) completeObjects(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.suggestions().Objects(cmd, typed, nil)
}

// completePlaces completes any number of objects, namespaces and schedules that can be kept awake.
func (s *session) completePlaces(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.suggestions().Objects(cmd, typed, override.Names)
}

// suggestions returns the session of package complete, which completes the values of flags.
func (s *session) suggestions() complete.Session {
	return complete.Session{
		Ready: func() error { return s.complete("") }, Load: s.read, Namespace: s.namespace, OwnFormat: moreFormats,
		Kubeconfig: func() (clientcmdapi.Config, error) { return s.config.ToRawKubeConfigLoader().RawConfig() },
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
