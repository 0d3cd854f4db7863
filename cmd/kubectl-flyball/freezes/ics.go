package freezes

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
)

// icsInstant is the format of an instant in UTC in RFC 5545.
const icsInstant = "20060102T150405Z"

// icsLine is the maximum length of a line in bytes, from RFC 5545, section 3.1.
const icsLine = 75

// WriteICS writes the agenda as a calendar of RFC 5545, with one event per entry. An entry without an end ends with the
// agenda. The parameter now is the creation time of the calendar.
func (a Agenda) WriteICS(out io.Writer, now time.Time) error {
	var b strings.Builder
	line := func(format string, args ...any) { fold(&b, fmt.Sprintf(format, args...)) }
	line("BEGIN:VCALENDAR")
	line("VERSION:2.0")
	line("PRODID:-//flyball.dev//kubectl flyball//EN")
	line("CALSCALE:GREGORIAN")
	for _, e := range a.Entries {
		start, end := e.Start, e.End
		if start.IsZero() {
			start = a.From
		}
		if end.IsZero() {
			end = a.To
		}
		line("BEGIN:VEVENT")
		line("UID:%s-%s@flyball.dev", start.UTC().Format(icsInstant), strings.ReplaceAll(strings.ToLower(e.Policy), "/", "."))
		line("DTSTAMP:%s", now.UTC().Format(icsInstant))
		line("DTSTART:%s", start.UTC().Format(icsInstant))
		line("DTEND:%s", end.UTC().Format(icsInstant))
		line("SUMMARY:%s", escape(e.Policy+" "+e.Effect+" "+strings.Join(e.Actions, ", ")))
		if e.Reason != "" {
			line("DESCRIPTION:%s", escape(e.Reason))
		}
		line("TRANSP:TRANSPARENT")
		line("END:VEVENT")
	}
	line("END:VCALENDAR")
	_, err := io.WriteString(out, b.String())
	return err
}

// escape returns a text in the form of RFC 5545, section 3.3.11, without control characters.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace(printer.CleanLines(strings.ReplaceAll(text, "\r", "")))
}

// fold writes a line. It breaks a long line between runes and begins each continuation with a space.
func fold(b *strings.Builder, line string) {
	room := icsLine
	for len(line) > room {
		cut := room
		for !utf8.RuneStart(line[cut]) {
			cut--
		}
		b.WriteString(line[:cut] + "\r\n ")
		line, room = line[cut:], icsLine-1
	}
	b.WriteString(line + "\r\n")
}
