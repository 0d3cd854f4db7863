package main

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is the output of the demo.
type screen struct {
	out *os.File
	// live is true if lines can be redrawn. colour is true if they can be coloured.
	live, colour bool
}

func newScreen(out *os.File, plain bool) *screen {
	terminal := term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
	return &screen{out: out, live: terminal && !plain, colour: terminal && !plain && os.Getenv("NO_COLOR") == ""}
}

// size returns the size of the terminal. Other outputs are wide and have no height.
func (s *screen) size() (width, height int) {
	if w, h, err := term.GetSize(int(s.out.Fd())); err == nil && w > 0 {
		return w, h
	}
	return 132, 0
}

// printf prints and ignores errors, because there is no other place to report them.
func (s *screen) printf(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }

// paint is an SGR parameter.
type paint string

const (
	plain  paint = ""
	bold   paint = "1"
	dim    paint = "2"
	red    paint = "31"
	green  paint = "32"
	yellow paint = "33"
	blue   paint = "34"
	cyan   paint = "36"
)

func (s *screen) in(p paint, text string) string {
	if !s.colour || p == plain || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// paintOf returns the colour of a state.
func paintOf(s state) paint {
	switch s {
	case awake:
		return green
	case reduced:
		return yellow
	case asleep:
		return blue
	case frozen:
		return cyan
	default:
		return dim
	}
}

// fit cuts or pads a text to a width, in characters.
func fit(text string, width int) string {
	n := utf8.RuneCountInString(text)
	if n <= width {
		return text + strings.Repeat(" ", width-n)
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}

// wrap wraps lines longer than a width, in characters, at spaces. A longer word is not broken.
func wrap(text string, width int) []string {
	var out []string
	for line := range strings.Lines(text) {
		row := strings.TrimRight(line, " \n")
		if utf8.RuneCountInString(row) <= width {
			out = append(out, row)
			continue
		}
		row = ""
		for word := range strings.FieldsSeq(line) {
			if row != "" && utf8.RuneCountInString(row)+1+utf8.RuneCountInString(word) > width {
				out, row = append(out, row), ""
			}
			if row != "" {
				row += " "
			}
			row += word
		}
		out = append(out, row)
	}
	return out
}

// frame draws lines over the lines of the previous frame.
type frame struct {
	screen *screen
	drawn  int
}

func (f *frame) draw(lines []string) {
	var b strings.Builder
	if f.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", f.drawn)
	} else {
		b.WriteString("\x1b[?25l") // no cursor while it is drawn
	}
	for _, line := range lines {
		b.WriteString("\r" + line + "\x1b[K\n")
	}
	if len(lines) < f.drawn {
		b.WriteString("\x1b[J")
	}
	f.drawn = len(lines)
	f.screen.printf("%s", b.String())
}

// erase removes the last frame.
func (f *frame) erase() {
	if f.drawn > 0 {
		f.screen.printf("\x1b[%dA\r\x1b[J", f.drawn)
	}
	f.end()
}

// end leaves the last frame in place.
func (f *frame) end() {
	if f.drawn > 0 {
		f.screen.printf("\x1b[?25h")
	}
	f.drawn = 0
}
