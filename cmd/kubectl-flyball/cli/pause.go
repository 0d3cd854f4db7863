package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/pause"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

func newPause(s *session) *cobra.Command { return pause.New(s.pausing()) }

// pausing returns the environment of the verb pause.
func (s *session) pausing() pause.Env {
	return pause.Env{
		Namespace: s.namespace, Offline: s.offline, Cluster: s.cluster, Complete: s.completePolicies, Manager: fieldManager,
		Load: func(ctx context.Context) (*source.World, error) {
			return s.load(ctx, source.Query{Namespace: s.namespace()})
		},
		Print: func(c *pause.Change) error { return s.print(c) },
	}
}

func (s *session) completePolicies(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return words(args, typed, func(string) ([]string, cobra.ShellCompDirective) {
		return s.suggestions().Names(cmd, source.PolicyNames)
	})
}
