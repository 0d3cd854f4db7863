package cli

import (
	"context"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/recommend"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/suggest"
	"flyball.dev/flyball/crds/v1alpha1"
)

// exitTooLittle is the exit code if there were too few samples.
const exitTooLittle = 2

// newRequests returns the verb suggest requests.
func newRequests(s *factory.Factory) *cobra.Command {
	return recommend.New(recommend.Env{
		IOStreams: s.IOStreams, Now: s.Now, Load: s.Around, Print: s.Print, Complete: s.CompleteObject(nil),
		TooLittle: factory.Exit{Code: exitTooLittle, Cause: recommend.ErrTooLittle},
		Zone:      &s.Zone, Progress: func() (func(string), func()) { p := s.StartProgress(); return p.Doing, p.Done },
	})
}

// newSuggest returns the verb suggest.
func newSuggest(s *factory.Factory) *cobra.Command {
	cmd := suggest.New(suggest.Env{
		IOStreams: s.IOStreams, Now: s.Now, Load: s.Around, Print: s.PrintManifests, Complete: s.CompleteObject(nil),
		Refused: func(err error) error { return factory.Exit{Code: exitTooLittle, Cause: err} },
		Zone:    &s.Zone, Progress: func() (func(string), func()) { p := s.StartProgress(); return p.Doing, p.Done },
		Checkpoint: func(ctx context.Context, target source.Target) (*v1alpha1.UsageCheckpoint, error) {
			if s.Offline() {
				return s.Files(s.World, target.Namespace).Checkpoint(target.Ref)
			}
			cluster, err := s.Cluster()
			if err != nil {
				return nil, err
			}
			return cluster.Checkpoint(ctx, target.Ref)
		},
	})
	cmd.AddCommand(newRequests(s))
	return cmd
}
