package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/recommend"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/suggest"
	"flyball.dev/flyball/crds/v1alpha1"
)

// exitTooLittle is the exit code if there were too few samples.
const exitTooLittle = 2

// newRequests returns the verb suggest requests.
func newRequests(s *session) *cobra.Command {
	return recommend.New(recommend.Env{
		IOStreams: s.IOStreams, Now: s.Now, Load: s.around, Print: s.print, Complete: s.completeTargets,
		TooLittle: exit{exitTooLittle, recommend.ErrTooLittle},
		Zone:      &s.zone, Progress: func() (func(string), func()) { p := s.startProgress(); return p.doing, p.done },
	})
}

// newSuggest returns the verb suggest.
func newSuggest(s *session) *cobra.Command {
	cmd := suggest.New(suggest.Env{
		IOStreams: s.IOStreams, Now: s.Now, Load: s.around, Print: s.printManifests, Complete: s.completeTargets,
		Refused: func(err error) error { return exit{exitTooLittle, err} },
		Zone:    &s.zone, Progress: func() (func(string), func()) { p := s.startProgress(); return p.doing, p.done },
		Checkpoint: func(ctx context.Context, target source.Target) (*v1alpha1.UsageCheckpoint, error) {
			if s.offline() {
				return s.files(s.world, target.Namespace).Checkpoint(target.Ref)
			}
			cluster, err := s.cluster()
			if err != nil {
				return nil, err
			}
			return cluster.Checkpoint(ctx, target.Ref)
		},
	})
	cmd.AddCommand(newRequests(s))
	return cmd
}
