package factory

import (
	"io"
	"sync"
	"time"
)

// progressAfter is the time that passes before the first output.
const progressAfter = time.Second

// Progress shows the current activity on one line of a terminal, once the work has taken longer than progressAfter. The
// line disappears at the end.
type Progress struct {
	out   io.Writer
	mu    sync.Mutex
	what  string
	shown bool
	timer *time.Timer
}

// StartProgress starts the timer if a person reads standard error. Otherwise the progress shows nothing.
func (e Env) StartProgress() *Progress {
	p := &Progress{out: e.ErrOut}
	if e.Interactive {
		p.timer = time.AfterFunc(progressAfter, p.show)
	}
	return p
}

func (p *Progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	p.print()
}

func (p *Progress) print() {
	if p.shown && p.what != "" {
		_, _ = io.WriteString(p.out, "\r\x1b[K"+p.what+" ...")
	}
}

// Doing sets the current activity.
func (p *Progress) Doing(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
	p.print()
}

// Line writes a permanent line above the line of the activity.
func (p *Progress) Line(out io.Writer, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown && p.what != "" {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
	}
	_, _ = io.WriteString(out, text+"\n")
	p.print()
}

// Done removes the activity from the screen.
func (p *Progress) Done() {
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
