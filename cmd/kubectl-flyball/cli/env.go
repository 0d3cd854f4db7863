package cli

import (
	"os"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/progress"
)

// Env is what a command line gets from its surroundings.
type Env struct {
	genericiooptions.IOStreams
	// Now is the clock.
	Now func() time.Time
	// Color says whether standard output shows colours, and Interactive whether standard error is read by a person.
	Color, Interactive bool
}

// Terminal is the surroundings of a process. Colours are on where standard output is a terminal and NO_COLOR is not set.
func Terminal() Env {
	_, plain := os.LookupEnv("NO_COLOR")
	return Env{
		IOStreams:   genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Now:         time.Now,
		Color:       !plain && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd())),
		Interactive: term.IsTerminal(int(os.Stderr.Fd())),
	}
}

// startProgress begins to tell a person what goes on, where one reads it.
func (e Env) startProgress() *progress.Progress { return progress.Start(e.ErrOut, e.Interactive) }
