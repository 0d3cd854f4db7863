package migrate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

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
	// empty has the spans that never begin. unread has the spans that cannot be read, with the reasons.
	empty, unread []string
}

type start struct {
	days []v1alpha1.Day
	at   string
}

// The syntax is that of GoKubeDownscaler 1.3.4 (internal/pkg/values/timespan.go). The syntax of py-kube-downscaler 01600dc
// (kube_downscaler/helper.py) is a part of it. Of 1,934 spellings, the tool reads two more: the zone Local, and times after 24:00.
var (
	instantText = `(.+Z|.+[+-]\d\d:\d\d)`
	instantPair = regexp.MustCompile(`^` + instantText + ` *- *` + instantText + `$`)
	dayText     = `(mon|tue|wed|thu|fri|sat|sun)`
	dayRange    = regexp.MustCompile(`^(?i)` + dayText + `-` + dayText + `$`)
	weekly      = regexp.MustCompile(`^(?i)(?:(` + dayText + `-` + dayText + `)\s+)?(\d\d:\d\d)-(\d\d:\d\d)(?:\s+([a-z0-9/_+-]+))?$`)
)

// noBeginning and noEnd are the instants of a span that has no beginning or no end.
const noBeginning, noEnd = "2000-01-01T00:00:00Z", "2999-12-31T00:00:00Z"

// spans parses the spans of a setting, with the defaults of the tool's environment. A span that cannot be read is the reason
// to leave an object behind, because the tool does not touch such an object.
func (w *work) spans(s downscalerScope, setting string) (x spans, why string) {
	text, set := s[setting]
	if !set {
		return spans{}, ""
	}
	x = readSpans(text, w.config.env["timezone"], w.config.env["weekframe"])
	if len(x.unread) > 0 {
		return x, setting + " has a span that cannot be read: " + strings.Join(x.unread, "; ")
	}
	return x, ""
}

// readSpans parses a list of spans. A span without a time zone or without days gets the default.
func readSpans(text, defaultZone, defaultDays string) spans {
	s := spans{windows: map[string][]v1alpha1.Window{}, starts: map[string][]start{}}
	var instants []v1alpha1.Window
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		dated, isDated := readInstants(part)
		switch {
		case strings.EqualFold(part, "always"), strings.EqualFold(part, "true"):
			s.always = true
		case strings.EqualFold(part, "never"), strings.EqualFold(part, "false"):
		case !isDated:
			if why := s.addWeekly(part, defaultZone, defaultDays); why != "" {
				s.unread = append(s.unread, fmt.Sprintf("%q: %s", part, why))
			}
		case instant(dated.Start).IsZero() || instant(dated.End).IsZero():
			s.unread = append(s.unread, fmt.Sprintf("%q: it has no instants as 2037-12-24T00:00:00Z", part))
		case !instant(dated.Start).Before(instant(dated.End)):
			s.empty = append(s.empty, fmt.Sprintf("%q ends before it begins", part))
		default:
			instants = append(instants, dated)
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

// readInstants returns a span between two instants, or from or until one. The instants may be unreadable. It returns false if the text
// has another form.
func readInstants(text string) (w v1alpha1.Window, ok bool) {
	alone := func(text string) string { return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "-")) }
	if m := instantPair.FindStringSubmatch(text); m != nil {
		return v1alpha1.Window{Start: strings.TrimSpace(m[1]), End: strings.TrimSpace(m[2])}, true
	}
	if from, ok := strings.CutPrefix(text, "from"); ok {
		return v1alpha1.Window{Start: alone(from), End: noEnd}, true
	}
	until, ok := strings.CutPrefix(text, "until")
	return v1alpha1.Window{Start: noBeginning, End: alone(until)}, ok
}

// addWeekly adds a span of days and times, or returns why it cannot be read. A span over midnight becomes two windows on each day: from
// 00:00 until the end of the span, and from the beginning of the span until 24:00.
func (s *spans) addWeekly(text, zone, days string) (why string) {
	m := weekly.FindStringSubmatch(text)
	if m == nil {
		return "a span is always, never, days with times and a time zone (Mon-Fri 08:00-20:00 Europe/Berlin), or two instants"
	}
	days, zone = cmp.Or(m[1], days), cmp.Or(m[6], zone)
	from, okFrom := Clock(m[4])
	to, okTo := Clock(m[5])
	of := dayRange.FindStringSubmatch(days)
	switch {
	case !okFrom || !okTo:
		return "it has no times of day"
	case zone == "":
		return "it has no time zone, and there is no DEFAULT_TIMEZONE"
	case days == "":
		return "it has no days, and there is no DEFAULT_WEEKFRAME"
	case of == nil:
		return "DEFAULT_WEEKFRAME is no range of days, as Mon-Fri"
	}
	if _, err := timeline.LoadZone(zone); err != nil {
		return zone + " is no time zone"
	}
	if from == to {
		s.empty = append(s.empty, fmt.Sprintf("%q begins and ends at %s", text, from))
		return ""
	}
	list, _ := Range(of[1], of[2]) // the pattern accepts only known days
	if !slices.Contains(s.zones, zone) {
		s.zones = append(s.zones, zone)
	}
	s.starts[zone] = append(s.starts[zone], start{list, from})
	add := func(from, to string) {
		if from != to {
			s.windows[zone] = append(s.windows[zone], v1alpha1.Window{Days: UnlessAll(list), From: from, To: to})
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

// notes returns a note for each span that never begins.
func (s *spans) notes() (notes []string) {
	for _, text := range s.empty {
		notes = append(notes, "a span never begins, there and here: "+text)
	}
	return notes
}

// all returns the time zone and the windows for one policy. The time zone is the first of the spans. A window of
// another time zone has that zone in its field timeZone.
func (s *spans) all() (zone string, windows []v1alpha1.Window) {
	zone = s.zones[0]
	for _, z := range s.zones {
		windows = append(windows, InZone(s.windows[z], z, zone)...)
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
		h, _ := Count(x.at[:2]) // Clock has formatted this text
		m, _ := Count(x.at[3:]) // Clock has formatted this text
		for _, d := range x.days {
			minutes = append(minutes, (slices.Index(Days, d)*24*60+int(h)*60+int(m))%(7*24*60)) // Sunday's 24:00 is Monday's 00:00
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

// instant returns the zero time for a text that is no instant.
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
		h, _ := Count(x.at[:2]) // Clock has formatted this text
		if !slices.Contains(hours, Number(h)) {
			hours = append(hours, Number(h))
		}
	}
	m, _ := Count(starts[0].at[3:]) // Clock has formatted this text
	days := "*"
	if len(starts[0].days) < len(Days) {
		var list []string
		for _, d := range starts[0].days {
			list = append(list, Number(int64(slices.Index(Days, d)+1)%7))
		}
		days = strings.Join(list, ",")
	}
	return zone, fmt.Sprintf("%d %s * * %s", m, strings.Join(hours, ","), days), true
}
