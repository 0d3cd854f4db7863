package freezes

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"flyball.dev/flyball/cmd/kubectl-flyball/report"
)

// icsInstant is how RFC 5545 writes an instant in UTC.
const icsInstant = "20060102T150405Z"

// icsLine is the longest line of RFC 5545, section 3.1, in bytes.
const icsLine = 75

// WriteICS writes the agenda as a calendar of RFC 5545, an event an entry. An entry without an end ends with the agenda. now is when
// the calendar is made.
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

// escape writes a text as RFC 5545, section 3.3.11, has it: without control characters.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace(report.CleanLines(strings.ReplaceAll(text, "\r", "")))
}

// fold writes a line, broken where it is too long: what follows begins with a space. No rune is broken.
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
