// Package progress shows the current activity on one line of a terminal, once the work has taken longer than a second.
// The line disappears at the end.
package progress

import (
	"io"
	"sync"
	"time"
)

// after is the time that passes before the first output.
const after = time.Second

// Progress shows the current activity of work that takes longer than the constant after.
type Progress struct {
	out   io.Writer
	mu    sync.Mutex
	what  string
	shown bool
	timer *time.Timer
}

// Start starts the timer. The parameter read is true if a person reads the writer out. Otherwise Progress shows
// nothing.
func Start(out io.Writer, read bool) *Progress {
	p := &Progress{out: out}
	if read {
		p.timer = time.AfterFunc(after, p.show)
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
