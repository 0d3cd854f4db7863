package times

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"flyball.dev/flyball/engine/timeline/recur"
)

// property is a content line of RFC 5545, section 3.1.
type property struct {
	name, value string
	params      map[string]string
	line        int // the number of its first line, from 1
}

// component is the content between a BEGIN and its END.
type component struct {
	name     string
	line     int
	props    []property
	children []*component
	// broken is the first fault of a line inside; nil: none.
	broken error
	// inText is true after a text for people. An unescaped line break cuts such a text into lines without a property.
	inText bool
}

func (c *component) first(name string) (property, bool) {
	for _, p := range c.props {
		if p.name == name {
			return p, true
		}
	}
	return property{}, false
}

func (c *component) text(name string) string {
	p, _ := c.first(name)
	return p.value
}

// add adds a property. A VEVENT has each property of one value only once.
func (c *component) add(p property) {
	if c.name == "VEVENT" && c.broken == nil && once[p.name] {
		if _, twice := c.first(p.name); twice {
			c.breaks(fmt.Errorf("line %d: %s comes twice in one event", p.line, p.name))
		}
	}
	c.props = append(c.props, p)
}

// only returns the property of a name, if the component has exactly one.
func (c *component) only(name string) (found property, ok bool) {
	for _, p := range c.props {
		if p.name == name {
			if ok {
				return property{}, false
			}
			found, ok = p, true
		}
	}
	return found, ok
}

// maxDepth is the largest depth of nested components. VCALENDAR, VTIMEZONE and STANDARD need a depth of three.
const maxDepth = 8

// names are the properties of an event and of a time zone (RFC 5545, section 8.3.2, and RFC 7986), with BEGIN and END. The texts for
// people and the names with X- are apart.
var (
	names = set("BEGIN END ATTACH ATTENDEE CATEGORIES CLASS COLOR CONFERENCE CREATED DTEND DTSTAMP DTSTART DURATION EXDATE EXRULE GEO IMAGE " +
		"LAST-MODIFIED ORGANIZER PRIORITY RDATE RECURRENCE-ID RELATED-TO REQUEST-STATUS RESOURCES RRULE SEQUENCE STATUS TRANSP TZID TZNAME " +
		"TZOFFSETFROM TZOFFSETTO TZURL UID URL")
	texts = set("COMMENT CONTACT DESCRIPTION LOCATION NAME SUMMARY")
	// decisive are the names with an effect on the times of events.
	decisive = set("BEGIN END DTEND DTSTART DURATION EXDATE EXRULE RDATE RECURRENCE-ID RRULE STATUS TZID TZOFFSETFROM TZOFFSETTO UID")
	once     = set("DTEND DTSTART DURATION RECURRENCE-ID STATUS UID")
)

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}

// capitals returns the name of a property at the begin of a line, in capitals as programs write it; empty: there is none.
func capitals(line string) string {
	rest := strings.TrimLeft(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
	if rest != "" && 'a' <= rest[0] && rest[0] <= 'z' {
		return ""
	}
	return line[:len(line)-len(rest)]
}

// takes reports whether a line is a part of the text before. err is the error of the line as a property.
func (c *component) takes(line string, err error) bool {
	name := capitals(line)
	isText := texts[name] || strings.HasPrefix(name, "X-")
	if c.inText && !names[name] && (!isText || err != nil) {
		return true
	}
	c.inText = isText
	return false
}

// components returns the components of a file, usually a VCALENDAR. An unreadable line breaks its component. A line is a step of the
// budget.
func components(text string, budget *recur.Budget) (*component, error) {
	root := &component{}
	open := []*component{root}
	lines := unfold(text, budget)
	if budget.IsOver() {
		return nil, tooLong(maxSteps)
	}
	for _, l := range lines {
		here := open[len(open)-1]
		p, err := parseLine(l.text)
		p.line = l.number
		switch {
		case here.takes(l.text, err):
			if decisive[p.name] { // in small letters
				here.breaks(fmt.Errorf("line %d: %.40q may be a property or a text: write a line break of a text as \\n", l.number, l.text))
			}
		case err != nil:
			here.breaks(fmt.Errorf("line %d: %w", l.number, err))
		case p.name == "BEGIN" && len(open) > maxDepth:
			return nil, fmt.Errorf("line %d: components lie more than %d deep in each other", l.number, maxDepth)
		case p.name == "BEGIN":
			open = begin(open, &component{name: strings.ToUpper(p.value), line: l.number})
		case p.name == "END" && strings.ToUpper(p.value) != here.name:
			here.breaks(fmt.Errorf("line %d: END:%.32s does not end the %.32s of line %d", l.number, p.value, here.name, here.line))
		case p.name == "END":
			open = open[:len(open)-1]
		default:
			here.add(p)
		}
	}
	for _, c := range open[1:] {
		c.breaks(fmt.Errorf("line %d: the %.32s has no END", c.line, c.name))
	}
	return root, nil
}

// begin opens a component within others. An event lies in a calendar only. Elsewhere it is broken, with the components around it.
func begin(open []*component, inner *component) []*component {
	here, parent := open[len(open)-1], open[len(open)-1]
	open = append(open, inner)
	if inner.name == "VEVENT" && len(open) > 3 {
		parent = open[1]
		for _, c := range open[2:] {
			c.breaks(fmt.Errorf("line %d: an event begins within the %.32s of line %d", inner.line, here.name, here.line))
		}
	}
	parent.children = append(parent.children, inner)
	return open
}

func (c *component) breaks(err error) {
	if c.broken == nil {
		c.broken = err
	}
}

type line struct {
	text   string
	number int
}

// unfold joins folded lines: a line that begins with a space or tabulator continues the line before it.
func unfold(text string, budget *recur.Budget) (lines []line) {
	number := 0
	var long []string // the pieces of a folded line, which are joined only once
	flush := func() {
		if len(long) > 1 {
			lines[len(lines)-1].text = strings.Join(long, "")
		}
	}
	for text := range strings.SplitSeq(text, "\n") {
		text = strings.TrimPrefix(text, "\ufeff") // a file that was put behind another one begins with a byte order mark
		if number++; !budget.Spend(1) {
			return lines
		}
		switch {
		case text == "":
		case (text[0] == ' ' || text[0] == '\t') && len(lines) > 0:
			long = append(long, text[1:])
		default:
			flush()
			lines, long = append(lines, line{text, number}), append(long[:0], text)
		}
	}
	flush()
	return lines
}

// isName matches the names of properties and parameters (RFC 5545, section 3.1).
var isName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// parseLine reads NAME;PARAM=value;PARAM="value":value.
func parseLine(text string) (property, error) {
	p := property{params: map[string]string{}}
	end := strings.IndexAny(text, ";:")
	if end < 0 || !isName.MatchString(text[:end]) {
		return p, fmt.Errorf("%.40q is no property: write NAME:value", text)
	}
	p.name = strings.ToUpper(text[:end])
	for rest := text[end:]; ; {
		if rest[0] == ':' {
			p.value = strings.TrimSpace(rest[1:])
			return p, nil
		}
		name, value, ok := strings.Cut(rest[1:], "=")
		if !ok || !isName.MatchString(name) {
			return p, errors.New("a parameter has no name or no value")
		}
		end := 0
		if strings.HasPrefix(value, `"`) {
			if end = strings.IndexByte(value[1:], '"') + 2; end == 1 {
				return p, errors.New("a quoted parameter has no end")
			}
		}
		more := strings.IndexAny(value[end:], ";:")
		if more < 0 {
			return p, errors.New("the property has no value")
		}
		p.params[strings.ToUpper(name)] = strings.Trim(value[:end+more], `"`)
		rest = value[end+more:]
	}
}
