package cli

import (
	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/checkup"
	"flyball.dev/flyball/cmd/version"
	"flyball.dev/flyball/crds/v1alpha1"
)

func newVersion(s *session) *cobra.Command {
	client := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this plugin, of the manager and of the API, and warn of skew",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			own, _ := version.Get()
			v := checkup.Versions{Client: own, ClientAPI: v1alpha1.GroupVersion.String()}
			if !client && !s.offline {
				config, err := s.restConfig()
				if err != nil {
					return err
				}
				if err := v.Ask(cmd.Context(), config, s.flyballNamespace); err != nil {
					return err
				}
			}
			return s.print(v)
		},
	}
	cmd.Flags().BoolVar(&client, "client", false, "Only the version of this plugin; ask no cluster")
	return cmd
}
