package factory

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// Verb is a verb with its flags and arguments, in the shape of kubectl.
type Verb interface {
	// Complete takes the arguments, and works out the values that depend on the shared flags.
	Complete(args []string) error
	// Validate returns the faults of flags and arguments that need no world.
	Validate() error
	// Run finds and prints the answer.
	Run(ctx context.Context) error
}

// Command returns a command that runs a verb.
func Command(v Verb, cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := v.Complete(args); err != nil {
			return err
		}
		if err := v.Validate(); err != nil {
			return err
		}
		return v.Run(cmd.Context())
	}
	return cmd
}

// These exit codes are common to all verbs. The help of a verb lists further codes.
const (
	ExitOK    = 0
	ExitError = 1
	// ExitTooLittle is the code of suggest if the history proposes nothing.
	ExitTooLittle = 2
)

// FailsWith is the annotation with the exit code of a verb's errors, in place of ExitError.
const FailsWith = "fails-with"

// MoreFormats is the annotation of verbs with an output format of their own.
const MoreFormats = "more-formats"

// Exit is an error with an exit code. If it has no cause, the answer is already printed completely, so no error is
// printed.
type Exit struct {
	Code  int
	Cause error
}

func (e Exit) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Cause.Error()
}

func (e Exit) Unwrap() error { return e.Cause }

// Answer returns the error that ends a verb after printing. It returns the error of printing, if any, then an exit code
// if the finding has a problem.
func Answer(printed error, ill bool, code int) error {
	if printed != nil || !ill {
		return printed
	}
	return Exit{Code: code}
}

// Manifests are the files of a verb, besides the world.
type Manifests struct{ Paths []string }

// AddFilenames adds the flag -f.
func (m *Manifests) AddFilenames(cmd *cobra.Command, usage string) {
	cmd.Flags().StringSliceVarP(&m.Paths, "filename", "f", nil, usage)
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
}
