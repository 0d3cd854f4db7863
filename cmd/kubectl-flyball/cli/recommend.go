package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/recommend"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// exitTooLittle is the exit code of recommend where too little was seen.
const exitTooLittle = 2

func newRecommend(s *session) *cobra.Command {
	cmd := recommend.New(recommend.Surroundings{
		In:   s.In,
		Now:  s.Now,
		Zone: func() *time.Location { return s.zone },
		Load: func(ctx context.Context, target string, files []string) (*source.World, source.Target, error) {
			return s.around(ctx, target, files)
		},
		Print: s.print,
		Note:  func(text string) { _, _ = fmt.Fprintln(s.ErrOut, "note:", text) },
		Progress: func() (func(string), func()) {
			p := s.startProgress()
			return p.doing, p.done
		},
		Complete: s.completeTargets,
	})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if errors.Is(err, recommend.ErrTooLittle) {
			return exit{exitTooLittle, err}
		}
		return err
	}
	return cmd
}
