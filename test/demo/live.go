package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// recent is the number of last changes below the live table.
const recent = 4

// view shows the week as it passes: as a table that is redrawn, or with a line per change.
type view struct {
	screen *screen
	rec    *recorder
	begin  time.Time
	// drawn means that a table is redrawn. Otherwise each change is a line.
	drawn bool
	frame *frame
	// quit ends the drawing. It is nil while nothing is drawn.
	quit chan struct{}
	done sync.WaitGroup

	mu   sync.Mutex
	last []string
}

// show starts to show the changes from the recorder.
func show(s *screen, rec *recorder, begin time.Time) *view {
	v := &view{screen: s, rec: rec, begin: begin, frame: &frame{screen: s}}
	v.drawn = v.fits()
	rec.onChange(v.changed)
	v.draw()
	return v
}

// draw starts to draw the table, if there is one.
func (v *view) draw() {
	if v.drawn {
		v.quit = make(chan struct{})
		v.done.Go(v.animate)
	}
}

// pause stops the drawing.
func (v *view) pause() {
	if v.quit != nil {
		close(v.quit)
		v.done.Wait()
		v.quit = nil
	}
}

// aside removes the table while other output is printed in its place, and draws it again below. After an error it stays
// removed.
func (v *view) aside(do func() error) error {
	v.pause()
	v.frame.erase()
	if err := do(); err != nil {
		return err
	}
	v.draw()
	return nil
}

// fits reports whether the whole table fits the screen, because lines that have scrolled away cannot be redrawn.
func (v *view) fits() bool {
	width, height := v.screen.size()
	return v.screen.live && width >= narrow && height > len(v.lines(width))
}

func (v *view) changed(t track, c change) {
	line := fmt.Sprintf("%s  %s %s %s", stamp(c.at), fit(t.String(), nameWidth),
		v.screen.in(paintOf(c.state), fit(c.state.String(), stateWidth)), arrow(c))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = append(v.last, line)
	if !v.drawn {
		v.screen.printf("     %s\n", line)
	}
}

// arrow returns a change without the common word of both values: replicas 3 → 0.
func arrow(c change) string {
	word, _, _ := strings.Cut(c.from, " ")
	if word == "" {
		return c.to
	}
	return c.from + " → " + strings.TrimPrefix(c.to, word+" ")
}

func stamp(t time.Time) string { return t.Format("Mon 02 Jan 15:04") }

func (v *view) animate() {
	ticker := time.NewTicker(150 * time.Millisecond)
	defer ticker.Stop()
	for {
		width, _ := v.screen.size()
		v.frame.draw(v.lines(width))
		select {
		case <-v.quit:
			return
		case <-ticker.C:
		}
	}
}

// stop draws a last time and ends.
func (v *view) stop() {
	if v.quit == nil {
		return
	}
	v.pause()
	width, _ := v.screen.size()
	v.frame.draw(v.lines(width))
	v.frame.end()
}

const (
	nameWidth  = 20
	stateWidth = 8
	levelWidth = 14
	podsWidth  = 6
	timeWidth  = 10
	// narrow is the minimum width of the whole view. withStrip is the minimum width with the last day of each target.
	narrow    = 72
	withStrip = 2 + nameWidth + 1 + stateWidth + 1 + levelWidth + 1 + podsWidth + 1 + timeWidth + 2 + 24
)

// lines returns the lines of the live table.
func (v *view) lines(width int) []string {
	now := v.rec.clock.Now()
	hour := now.Sub(v.begin).Hours()
	s := v.screen
	out := []string{
		"",
		"  " + s.in(bold, stamp(now)) + "  " + v.progress(hour) + "  " + s.in(cyan, occasion(hour)),
		"",
	}
	head := "  " + fit("TARGET", nameWidth) + " " + fit("STATE", stateWidth) + " " + fit("SETTING", levelWidth) + " " +
		fit("PODS", podsWidth) + " " + fit("SINCE", timeWidth)
	if width >= withStrip {
		head += "  LAST 24 HOURS"
	}
	out = append(out, s.in(dim, head))
	rows := v.rec.snapshot()
	if f := v.rec.freezeTrack(); f != nil {
		rows = append(rows, *f)
	}
	for _, t := range rows {
		line := v.row(&t)
		if width >= withStrip {
			line += "  " + v.strip(&t, hour)
		}
		out = append(out, line)
	}
	out = append(out, "")
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range recent {
		line := ""
		if at := len(v.last) - recent + i; at >= 0 {
			line = "  " + v.last[at]
		}
		out = append(out, line)
	}
	return out
}

func (v *view) row(t *track) string {
	pods, since := "-", "-"
	if t.latest != nil {
		if ready, want, ok := t.pods(t.latest); ok {
			pods = fmt.Sprintf("%d/%d", ready, want)
		}
	}
	if n := len(t.history); n > 0 {
		since = t.history[n-1].at.Format("Mon 15:04")
	}
	return "  " + fit(t.String(), nameWidth) + " " + v.screen.in(paintOf(t.state), fit(t.state.String(), stateWidth)) + " " +
		fit(t.level.text, levelWidth) + " " + fit(pods, podsWidth) + " " + fit(since, timeWidth)
}

// strip returns the last day of a target, one character per hour.
func (v *view) strip(t *track, hour float64) string {
	var b strings.Builder
	last := int(hour)
	for h := last - 23; h <= last; h++ {
		if h < 0 {
			b.WriteByte(' ')
			continue
		}
		at := v.begin.Add(time.Duration(h)*time.Hour + 30*time.Minute)
		s := t.at(at)
		b.WriteString(v.screen.in(paintOf(s), mark(s)))
	}
	return b.String()
}

// progress returns a progress bar of the week.
func (v *view) progress(hour float64) string {
	const cells = 2 * days
	full := min(int(hour*cells/(days*24)), cells)
	return v.screen.in(green, strings.Repeat("━", full)) + v.screen.in(dim, strings.Repeat("─", cells-full))
}

// occasion returns the kind of an hour.
func occasion(hour float64) string {
	day, h := int(hour)/24, int(hour)%24
	switch {
	case day == holiday:
		return "Ascension Day, a public holiday"
	case day == 5 || day == 6:
		return "weekend"
	case h < 8 || h >= 20:
		return "night"
	default:
		return "working hours"
	}
}
