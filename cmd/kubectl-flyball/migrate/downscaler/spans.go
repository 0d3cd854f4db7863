package downscaler

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/migrate"
	"flyball.dev/flyball/cmd/kubectl-flyball/migrate/week"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// spans are the spans of time of one setting of the tool.
type spans struct {
	always bool
	// windows are the windows by time zone, and zones are the time zones in order. A window between two instants has no
	// time zone and is stored under the first one.
	windows map[string][]v1alpha1.Window
	zones   []string
	// starts are the days and times at which weekly spans begin, by time zone. dates is true if a span has dates.
	starts map[string][]start
	dates  bool
	// ignored has the spans that the tool ignores, with the reasons.
	ignored []string
}

type start struct {
	days []v1alpha1.Day
	at   string
}

var (
	instantText  = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)`
	instantPair  = regexp.MustCompile(`^(` + instantText + `) *- *(` + instantText + `)$`)
	instantAlone = regexp.MustCompile(`^(from|until) +(` + instantText + `)$`)
	dayToken     = regexp.MustCompile(`^(?i)(mon|tue|wed|thu|fri|sat|sun)(?:-(mon|tue|wed|thu|fri|sat|sun))?$`)
	timeToken    = regexp.MustCompile(`^(\d{1,2}:\d\d)-(\d{1,2}:\d\d)$`)
)

// noBeginning and noEnd are the instants of a span that has no beginning or no end.
const noBeginning, noEnd = "2000-01-01T00:00:00Z", "2999-12-31T00:00:00Z"

// spans parses a list of spans, with the defaults of the tool's environment.
func (w *work) spans(text string) spans {
	return readSpans(text, w.config.env["timezone"], w.config.env["weekframe"])
}

// readSpans parses a list of spans. A span without a time zone or without days gets the default.
func readSpans(text, defaultZone, defaultDays string) spans {
	s := spans{windows: map[string][]v1alpha1.Window{}, starts: map[string][]start{}}
	var instants []v1alpha1.Window
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		switch m := instantPair.FindStringSubmatch(part); {
		case strings.EqualFold(part, "always"), strings.EqualFold(part, "true"):
			s.always = true
		case strings.EqualFold(part, "never"), strings.EqualFold(part, "false"), part == "":
		case m != nil:
			instants = append(instants, v1alpha1.Window{Start: m[1], End: m[2]})
		case instantAlone.MatchString(part):
			alone := instantAlone.FindStringSubmatch(part)
			w := v1alpha1.Window{Start: alone[2], End: noEnd}
			if alone[1] == "until" {
				w = v1alpha1.Window{Start: noBeginning, End: alone[2]}
			}
			instants = append(instants, w)
		default:
			if why := s.addWeekly(part, defaultZone, defaultDays); why != "" {
				s.ignored = append(s.ignored, fmt.Sprintf("%q: %s", part, why))
			}
		}
	}
	if len(instants) > 0 {
		s.dates = true
		if len(s.zones) == 0 {
			s.zones = []string{"UTC"}
		}
		s.windows[s.zones[0]] = append(s.windows[s.zones[0]], instants...)
	}
	return s
}

// addWeekly adds a span of days and times. A span over midnight becomes two windows on each day: from 00:00 until the
// end of the span, and from the beginning of the span until 24:00.
func (s *spans) addWeekly(text, zone, days string) (why string) {
	from, to := "", ""
	for i, token := range strings.Fields(text) {
		switch m := timeToken.FindStringSubmatch(token); {
		case m != nil:
			var okFrom, okTo bool
			from, okFrom = week.Clock(m[1])
			if to, okTo = week.Clock(m[2]); !okFrom || !okTo {
				return "it has no times of day"
			}
		case dayToken.MatchString(token) && i == 0:
			days = token
		default:
			if _, err := timeline.LoadZone(token); err != nil {
				return fmt.Sprintf("%s is neither days (as Mon-Fri), nor times, nor a time zone", token)
			}
			zone = token
		}
	}
	m := dayToken.FindStringSubmatch(days)
	switch {
	case from == "":
		return "it is no span of time"
	case zone == "":
		return "it has no time zone, and there is no DEFAULT_TIMEZONE"
	case m == nil:
		return "it has no days, and there is no DEFAULT_WEEKFRAME"
	case from == to:
		return "it begins and ends at " + from + ": that is never"
	}
	if m[2] == "" {
		m[2] = m[1]
	}
	list, _ := week.Range(m[1], m[2]) // the pattern accepts only known days
	if !slices.Contains(s.zones, zone) {
		s.zones = append(s.zones, zone)
	}
	s.starts[zone] = append(s.starts[zone], start{list, from})
	add := func(from, to string) {
		if from != to {
			s.windows[zone] = append(s.windows[zone], v1alpha1.Window{Days: week.UnlessAll(list), From: from, To: to})
		}
	}
	if from < to {
		add(from, to)
		return ""
	}
	add("00:00", to)
	add(from, "24:00")
	return ""
}

// all returns the time zone and the windows for one policy. The time zone is the first of the spans. A window of
// another time zone has that zone in its field timeZone.
func (s *spans) all() (zone string, windows []v1alpha1.Window) {
	zone = s.zones[0]
	for _, z := range s.zones {
		windows = append(windows, week.InZone(s.windows[z], z, zone)...)
	}
	return zone, windows
}

// weekly returns the beginnings of the spans in minutes of the week, and their time zone. It returns false if a span
// has dates, or if the spans have several time zones.
func (s *spans) weekly() (zone string, minutes []int, ok bool) {
	if s.always || s.dates || len(s.zones) != 1 {
		return "", nil, false
	}
	for _, x := range s.starts[s.zones[0]] {
		h, _ := migrate.Count(x.at[:2]) // Clock has formatted this text
		m, _ := migrate.Count(x.at[3:]) // Clock has formatted this text
		for _, d := range x.days {
			minutes = append(minutes, (slices.Index(week.Days, d)*24*60+int(h)*60+int(m))%(7*24*60)) // Sunday's 24:00 is Monday's 00:00
		}
	}
	return s.zones[0], minutes, true
}

// instants returns the spans with dates, in order.
func (s *spans) instants() (all []v1alpha1.Window) {
	for _, zone := range s.zones {
		for _, w := range s.windows[zone] {
			if w.Start != "" {
				all = append(all, w)
			}
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.Window) int { return instant(a.Start).Compare(instant(b.Start)) })
	return all
}

// instant parses a text that a pattern has matched. It returns the zero time if the day or the time does not exist.
func instant(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// isNever reports whether there are no spans.
func (s *spans) isNever() bool { return !s.always && len(s.zones) == 0 }

// cron returns one cron for the beginnings of the spans. It returns false if one cron cannot express them.
func (s *spans) cron() (zone, cron string, ok bool) {
	if s.always || s.dates || len(s.zones) != 1 {
		return "", "", false
	}
	zone = s.zones[0]
	starts := s.starts[zone]
	var hours []string
	for _, x := range starts {
		if !slices.Equal(x.days, starts[0].days) || x.at[3:] != starts[0].at[3:] || x.at == "24:00" {
			return "", "", false
		}
		h, _ := migrate.Count(x.at[:2]) // Clock has formatted this text
		if !slices.Contains(hours, migrate.Number(h)) {
			hours = append(hours, migrate.Number(h))
		}
	}
	m, _ := migrate.Count(starts[0].at[3:]) // Clock has formatted this text
	days := "*"
	if len(starts[0].days) < len(week.Days) {
		var list []string
		for _, d := range starts[0].days {
			list = append(list, migrate.Number(int64(slices.Index(week.Days, d)+1)%7))
		}
		days = strings.Join(list, ",")
	}
	return zone, fmt.Sprintf("%d %s * * %s", m, strings.Join(hours, ","), days), true
}
