package factory

import (
	"os"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Env is the environment of a command line.
type Env struct {
	genericiooptions.IOStreams
	// Now is the clock.
	Now func() time.Time
	// Color is true if standard output shows colours. Interactive is true if a person reads standard error.
	Color, Interactive bool
}

// Terminal returns the environment of the process. Colours are on if standard output is a terminal and NO_COLOR is not set.
func Terminal() Env {
	_, plain := os.LookupEnv("NO_COLOR")
	return Env{
		IOStreams:   genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Now:         time.Now,
		Color:       !plain && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd())),
		Interactive: term.IsTerminal(int(os.Stderr.Fd())),
	}
}
