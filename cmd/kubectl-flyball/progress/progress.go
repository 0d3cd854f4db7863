// Package progress tells a person what goes on, on one line that goes again, once that has taken more than a second.
package progress

import (
	"io"
	"sync"
	"time"
)

// after is how long a person waits before being told what goes on.
const after = time.Second

// Progress tells a person what is going on once that has taken a while.
type Progress struct {
	out   io.Writer
	mu    sync.Mutex
	what  string
	shown bool
	timer *time.Timer
}

// Start begins to wait. Nobody is told anything where nobody reads what is written.
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

// Doing says what goes on now.
func (p *Progress) Doing(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
	p.print()
}

// Line writes a line that stays, above what goes on.
func (p *Progress) Line(out io.Writer, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown && p.what != "" {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
	}
	_, _ = io.WriteString(out, text+"\n")
	p.print()
}

// Done takes away what was shown.
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
