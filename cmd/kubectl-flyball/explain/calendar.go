package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
)

// comingMost is the number of listed entries of a calendar.
const comingMost = 100

// CalendarStory is the description of one calendar.
type CalendarStory struct {
	Calendar string    `json:"calendar"`
	At       time.Time `json:"at"`
	// Invalid are the errors of the calendar, which has no days then.
	Invalid string `json:"invalid,omitempty"`
	// Coming are the coming days of the next 400 days, at most 100.
	Coming []CalendarDay `json:"coming"`
	// Lost are the unreadable events of the calendar and of its includes. LostDays are the days of the next 400 days on which these
	// events may be on.
	Lost     []string      `json:"lost,omitempty"`
	LostDays []CalendarDay `json:"lostDays,omitempty"`
	Notes    []string      `json:"notes,omitempty"`

	zone *time.Location
}

// CalendarDay is a day of a calendar, or several days in a row with one name and one source.
type CalendarDay struct {
	// Date and Until are the first and the last day, in the time zone of the calendar. Until is absent for a single day.
	Date  string `json:"date"`
	Until string `json:"until,omitempty"`
	Name  string `json:"name,omitempty"`
	// Source is the field of the spec, the line of the file, or the rule of holidays behind the days. It is absent for lost events.
	Source string `json:"source,omitempty"`
}

// OfCalendar returns the explanation of one calendar of a world. A missing calendar is an error.
func OfCalendar(w *source.World, name string, o Input) (*CalendarStory, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	object, err := w.FindCalendar(name)
	if err != nil {
		return nil, err
	}
	if text := times.Unchecked(object.Spec.Holidays, o.At); text != "" {
		w.Note("Calendar/%s: %s", name, text)
	}
	s := &CalendarStory{Calendar: "Calendar/" + name, At: o.At, Coming: []CalendarDay{}, Notes: slices.Clone(w.Notes), zone: o.Zone}
	found, _ := memory.Calendar(name)
	if len(found.Invalid) > 0 {
		s.Invalid = found.Invalid.ToAggregate().Error()
		return s, nil
	}
	today := timeline.Midnight(o.At, 0, zoneOf(object))
	for _, part := range memory.Parts(name) {
		s.Coming = append(s.Coming, coming(part, name, today)...)
	}
	slices.SortStableFunc(s.Coming, func(a, b CalendarDay) int { return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.Name, b.Name)) })
	if more := len(s.Coming) - comingMost; more > 0 {
		s.Coming = s.Coming[:comingMost]
		s.Notes = append(s.Notes, fmt.Sprintf("%d more entries follow in the %d days", more, times.ComingDays))
	}
	s.Lost = found.Lost.Events
	s.LostDays = coming(times.Part{Days: found.Lost.During}, name, today)
	return s, nil
}

// zoneOf returns the time zone of a calendar.
func zoneOf(c *v1alpha1.Calendar) *time.Location {
	loc, err := timeline.LoadZone(c.Spec.TimeZone)
	if err != nil {
		return time.UTC
	}
	return loc
}

// coming returns the coming days of a part of a calendar, from the begin of today on.
func coming(part times.Part, calendar string, today time.Time) (days []CalendarDay) {
	end := timeline.Midnight(today, times.ComingDays, today.Location())
	if st := part.Days.At(today); !st.Active && (st.Until.IsZero() || st.Until.After(end)) {
		return nil // most events of a long file are over
	}
	for _, run := range part.Days.Coming(today, times.ComingDays, comingMost) {
		day := CalendarDay{Date: run.First.Format(time.DateOnly), Source: part.Source,
			Name: strings.TrimPrefix(strings.TrimPrefix(run.Name, calendar), ": ")}
		if run.Last.After(run.First) {
			day.Until = run.Last.Format(time.DateOnly)
		}
		days = append(days, day)
	}
	return days
}

// Names implements printer.Finding.
func (s *CalendarStory) Names() []string {
	names := make([]string, len(s.Coming))
	for i, d := range s.Coming {
		names[i] = d.Date
	}
	return names
}

// Text implements printer.Finding.
func (s *CalendarStory) Text(w *printer.Writer) {
	w.Line("%s at %s", w.Styled(s.Calendar, printer.Bold), printer.InstantText(s.At, s.zone))
	if s.Invalid != "" {
		w.Line("  %s", w.Styled("it cannot be read: "+s.Invalid, printer.Bad))
	} else {
		w.Heading("Coming days")
		if len(s.Coming) == 0 {
			w.Line("  none in the next %d days", times.ComingDays)
		}
		textDays(w, s.Coming)
	}
	if len(s.Lost) > 0 {
		w.Heading("Lost events")
		for _, text := range s.Lost {
			w.Line("  %s", w.Styled(text, printer.Warn))
		}
		w.Line("  of the next %d days, these may be affected:", times.ComingDays)
		if len(s.LostDays) == 0 {
			w.Line("    none")
		}
		textDays(w, s.LostDays)
	}
	for _, n := range s.Notes {
		w.Line("")
		w.Line("note: %s", n)
	}
}

func textDays(w *printer.Writer, days []CalendarDay) {
	rows := make([][]printer.Cell, len(days))
	for i, d := range days {
		date := d.Date
		if d.Until != "" {
			date += " to " + d.Until
		}
		rows[i] = printer.Row(date, d.Name, d.Source)
	}
	w.Grid("  ", nil, rows)
}
