package when

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"flyball.dev/flyball/engine/timeline/face"
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

// maxDepth is the largest depth of nested components. VCALENDAR, VTIMEZONE and STANDARD need a depth of three.
const maxDepth = 8

// named matches a line that begins with the name of a property.
var named = regexp.MustCompile(`^[A-Z][A-Z-]*[;:]`)

// isText reports whether the last property of the component is a text for people. A line break that is not escaped cuts such a text
// into lines that are no properties.
func (c *component) isText() bool {
	if len(c.props) == 0 {
		return false
	}
	switch name := c.props[len(c.props)-1].name; name {
	case "DESCRIPTION", "SUMMARY", "LOCATION", "COMMENT":
		return true
	default:
		return strings.HasPrefix(name, "X-")
	}
}

// components returns the components of a file, usually a VCALENDAR. An unreadable line breaks its component. A line is a step of the
// budget.
func components(text string, budget *face.Budget) (*component, error) {
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
		case err != nil && here.isText() && !named.MatchString(l.text):
		case err != nil:
			here.breaks(fmt.Errorf("line %d: %w", l.number, err))
		case p.name == "BEGIN" && len(open) > maxDepth:
			return nil, fmt.Errorf("line %d: components lie more than %d deep in each other", l.number, maxDepth)
		case p.name == "BEGIN":
			inner := &component{name: strings.ToUpper(p.value), line: l.number}
			here.children = append(here.children, inner)
			open = append(open, inner)
		case p.name == "END" && strings.ToUpper(p.value) != here.name:
			here.breaks(fmt.Errorf("line %d: END:%.32s does not end the %.32s of line %d", l.number, p.value, here.name, here.line))
		case p.name == "END":
			open = open[:len(open)-1]
		default:
			here.props = append(here.props, p)
		}
	}
	for _, c := range open[1:] {
		c.breaks(fmt.Errorf("line %d: the %.32s has no END", c.line, c.name))
	}
	return root, nil
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
func unfold(text string, budget *face.Budget) (lines []line) {
	number := 0
	var long []string // the pieces of a folded line, which are joined only once
	flush := func() {
		if len(long) > 1 {
			lines[len(lines)-1].text = strings.Join(long, "")
		}
	}
	for text := range strings.SplitSeq(text, "\n") {
		if number++; !budget.Spend(1) {
			return lines
		}
		text = strings.TrimSuffix(text, "\r")
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

// parseLine reads NAME;PARAM=value;PARAM="value":value.
func parseLine(text string) (property, error) {
	p := property{params: map[string]string{}}
	end := strings.IndexAny(text, ";:")
	if end < 1 {
		return p, fmt.Errorf("%.40q is no property: write NAME:value", text)
	}
	p.name = strings.ToUpper(text[:end])
	for rest := text[end:]; ; {
		if rest[0] == ':' {
			p.value = strings.TrimSpace(rest[1:])
			return p, nil
		}
		name, value, ok := strings.Cut(rest[1:], "=")
		if !ok {
			return p, errors.New("a parameter has no value")
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
