package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/pause"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/targets"
)

func newTargets(s *session) *cobra.Command {
	cmd := targets.New(targets.Env{
		Zone: &s.zone, Namespace: s.namespace, At: s.at, Complete: s.completePolicies,
		Load: func(ctx context.Context) (*source.World, error) {
			return s.load(ctx, source.Query{Namespace: s.within()})
		},
		Print: func(w *source.World, l *targets.List) error {
			s.showNotes(w)
			return s.print(l)
		},
	})
	s.addAllFlag(cmd)
	return cmd
}

func newPause(s *session) *cobra.Command  { return pause.New(s.pausing()) }
func newResume(s *session) *cobra.Command { return pause.NewResume(s.pausing()) }

// pausing returns the environment of the verbs of package pause.
func (s *session) pausing() pause.Env {
	return pause.Env{
		Namespace: s.namespace, Offline: s.offline, Cluster: s.cluster, Complete: s.completePolicies, Manager: fieldManager,
		Load: func(ctx context.Context) (*source.World, error) {
			return s.load(ctx, source.Query{Namespace: s.namespace()})
		},
		Print: func(c *pause.Change) error { return s.print(c) },
	}
}

func (s *session) completePolicies(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.suggestions().Names(cmd, source.PolicyNames)
}
