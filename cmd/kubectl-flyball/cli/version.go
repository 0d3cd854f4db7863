package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/doctor"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

func newVersion(s *session) *cobra.Command { return doctor.NewVersion(s.checkup()) }

func newDoctor(s *session) *cobra.Command {
	cmd := doctor.New(s.checkup())
	s.addAllFlag(cmd)
	return cmd
}

// checkup returns the environment of package doctor. Its load prints no note about missing rights, because one of the
// checks reports them.
func (s *session) checkup() doctor.Env {
	return doctor.Env{
		Now: s.Now, Offline: s.offline, All: &s.all, FlyballNamespace: &s.flyballNamespace, Namespace: s.namespace, Config: s.restConfig,
		Cluster: s.cluster,
		Load: func(ctx context.Context) (*source.World, error) {
			return s.read(ctx, source.Query{Namespace: s.within()})
		},
		Print: s.print, Ill: exit{code: exitError},
	}
}
