package cli

import (
	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/recommend"
)

// newRecommend returns the verb recommend. Its exit code is 2 if there were too few samples.
func newRecommend(s *session) *cobra.Command {
	return recommend.New(recommend.Surroundings{
		IOStreams: s.IOStreams, Now: s.Now, Load: s.around, Print: s.print, Complete: s.completeTargets, TooLittle: exit{2, recommend.ErrTooLittle},
		Zone: &s.zone, Progress: func() (func(string), func()) { p := s.startProgress(); return p.Doing, p.Done },
	})
}
