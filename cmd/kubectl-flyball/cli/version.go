package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/checkup"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

func newVersion(s *session) *cobra.Command { return checkup.NewVersion(s.checkup()) }

func newDoctor(s *session) *cobra.Command {
	cmd := checkup.New(s.checkup())
	s.addAllFlag(cmd)
	return cmd
}

// checkup is what the verbs of package checkup need of a session. What may not be read is one of the checks, and is not said twice.
func (s *session) checkup() checkup.Surroundings {
	return checkup.Surroundings{
		Now: s.Now, Offline: &s.offline, All: &s.all, FlyballNamespace: &s.flyballNamespace, Namespace: s.namespace, Config: s.restConfig, Cluster: s.cluster,
		Load: func(ctx context.Context, files []string) (*source.World, error) {
			return s.read(ctx, source.Query{Namespace: s.within()}, files)
		},
		Print: s.print, Ill: exit{code: exitError},
	}
}
