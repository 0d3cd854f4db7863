package cli

import (
	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/draft"
)

func newAdapterTest(s *session) *cobra.Command {
	update := false
	cmd := &cobra.Command{
		Use:   "test DIR...",
		Short: "Run the golden cases of adapters, as the library does",
		Long: `Runs the golden cases of every adapter.yaml in the directories. Each folder of testdata beside the adapter is a case: object.yaml is put
to sleep and woken in memory by case.yaml, and the writes are compared with the golden files. docs/adapters.md describes the files.

A capability without a case is a failure. No cluster is needed.

Exit codes: 0 all cases pass, 1 a failed case, or an error.`,
		Example: "  kubectl flyball adapter test adapters/\n  kubectl flyball adapter test adapters/apps/Deployment --update",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			found, err := draft.RunCases(args, update)
			if err != nil {
				return err
			}
			return answer(s.print(found), !found.Passed, exitError)
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "Write the golden files instead of comparing with them; read them before you keep them")
	return cmd
}
