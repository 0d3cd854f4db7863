package cli

import (
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
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

// progressAfter is how long a person waits before being told what goes on.
const progressAfter = time.Second

// progress tells a person what is going on once that has taken a while.
type progress struct {
	out   io.Writer
	mu    sync.Mutex
	what  string
	shown bool
	timer *time.Timer
}

// startProgress begins to wait; nobody is told anything where nobody reads it.
func (e Env) startProgress() *progress {
	p := &progress{out: e.ErrOut}
	if e.Interactive {
		p.timer = time.AfterFunc(progressAfter, p.show)
	}
	return p
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	p.print()
}

func (p *progress) print() {
	if p.shown && p.what != "" {
		_, _ = io.WriteString(p.out, "\r\x1b[K"+p.what+" ...")
	}
}

// doing says what goes on now.
func (p *progress) doing(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
	p.print()
}

// done takes away what was shown.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.shown && p.what != "" {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
	}
	p.what = ""
}
