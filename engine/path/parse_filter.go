package path

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const filterForm = `[?(@.key=="value")]`

// filter reads [?(@.k=="v")] from its question mark on.
func (p *parser) filter(open int) (Step, error) {
	p.pos++
	if !p.accept("(") {
		return Step{}, p.errorAt(p.pos, "a filter is written %s", filterForm)
	}
	p.space()
	if !p.accept("@") {
		return Step{}, p.errorAt(p.pos, "a filter starts with the element, @: write %s", filterForm)
	}
	key, err := p.filterKey()
	if err != nil {
		return Step{}, err
	}
	p.space()
	op, err := p.operator()
	if err != nil {
		return Step{}, err
	}
	p.space()
	literal, err := p.literal()
	if err != nil {
		return Step{}, err
	}
	p.space()
	switch c := p.peek(); {
	case p.accept(")"):
	case c == eof:
		return Step{}, p.errorAt(p.pos, "the filter has no closing )]")
	case c == '&' || c == '|':
		return Step{}, p.errorAt(p.pos, "a filter is one comparison: && and || are not supported")
	default:
		return Step{}, p.errorAt(p.pos, "expected ) before %q", c)
	}
	return Step{Kind: Where, Filter: Filter{Key: key, Op: op, Literal: literal}}, p.closeBracket(open)
}

func (p *parser) space() {
	for unicode.IsSpace(p.peek()) {
		p.pos += utf8.RuneLen(p.peek())
	}
}

// filterKey reads the fields between @ and the operator.
func (p *parser) filterKey() (Path, error) {
	const stops = " \t\n\r=!<>)&|"
	var steps []Step
	for {
		start := p.pos
		var step Step
		var err error
		switch p.peek() {
		case '.':
			step, err = p.dotted(stops)
		case '[':
			step, err = p.bracket()
		default:
			return newPath(steps), nil
		}
		if err != nil {
			return Path{}, err
		}
		if step.Kind != Field {
			return Path{}, p.errorAt(start, "a filter compares a field of the element: write @.key or @['key']")
		}
		steps = append(steps, step)
	}
}

func (p *parser) operator() (Op, error) {
	if p.accept(string(Equals)) {
		return Equals, nil
	}
	if p.accept(string(Differs)) {
		return Differs, nil
	}
	switch c := p.peek(); c {
	case eof:
		return "", p.errorAt(p.pos, "the filter has no comparison: write %s", filterForm)
	case ')':
		return "", p.errorAt(p.pos, "a filter compares with == or !=: a bare key is not supported")
	default:
		return "", p.errorAt(p.pos, "a filter compares with == or !=, not with %q", c)
	}
}

// literal reads the right side of a comparison and returns it as canonical JSON.
func (p *parser) literal() (string, error) {
	start := p.pos
	if c := p.peek(); c == '"' || c == '\'' {
		s, err := p.quoted()
		return quote(s, '"'), err
	}
	for c := p.peek(); c != eof && !unicode.IsSpace(c) && !strings.ContainsRune(")]&|,", c); c = p.peek() {
		p.pos += utf8.RuneLen(c)
	}
	word := p.text[start:p.pos]
	if word == "true" || word == "false" {
		return word, nil
	}
	if d, ok := parseDecimal(word); ok {
		return d.String(), nil
	}
	switch {
	case word == "":
		return "", p.errorAt(start, "a literal must follow the operator: a string in quotes, a number, true or false")
	case word == "null":
		return "", p.errorAt(start, "null cannot be compared: write a string in quotes, a number, true or false")
	case word[0] == '@' || word[0] == '$':
		return "", p.errorAt(start, "the right side is a literal, not a path: a string in quotes, a number, true or false")
	case word[0] == '-' || word[0] == '+' || word[0] == '.' || isDigit(rune(word[0])):
		return "", p.errorAt(start, "%s is not a JSON number", word)
	default:
		return "", p.errorAt(start, "a string is quoted: write %s", quote(word, '"'))
	}
}

// quoted reads a string in ' or " quotes. The escapes are those of JSON, and a backslash before any punctuation mark
// stands for the mark itself.
func (p *parser) quoted() (string, error) {
	open := p.pos
	quotes := p.peek()
	p.pos++
	var s strings.Builder
	for {
		c := p.peek()
		switch c {
		case eof:
			return "", p.errorAt(open, "the opening %c has no closing %c", quotes, quotes)
		case quotes:
			p.pos++
			return s.String(), nil
		case '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			s.WriteRune(r)
		default:
			s.WriteRune(c)
			p.pos += utf8.RuneLen(c)
		}
	}
}

// escape reads one escape sequence inside quotes.
func (p *parser) escape() (rune, error) {
	start := p.pos
	p.pos++
	c := p.peek()
	if c == 'u' {
		return p.unicodeEscape()
	}
	if c != eof {
		p.pos += utf8.RuneLen(c)
	}
	switch c {
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	}
	if c == eof || isAlphanumeric(c) {
		return 0, p.errorAt(start, `unknown escape: write \\ for a backslash itself`)
	}
	return c, nil
}

// unicodeEscape reads uXXXX, with the second half of a surrogate pair if uXXXX is the first half.
func (p *parser) unicodeEscape() (rune, error) {
	start := p.pos - 1
	r, ok := p.hex4()
	if ok && utf16.IsSurrogate(r) {
		ok = p.accept(`\`)
		low, lowOK := p.hex4()
		r = utf16.DecodeRune(r, low)
		ok = ok && lowOK && r != unicode.ReplacementChar
	}
	if !ok {
		return 0, p.errorAt(start, `\u takes four hexadecimal digits of a character, or two such escapes that form a pair`)
	}
	return r, nil
}

func (p *parser) hex4() (rune, bool) {
	const length = len("uXXXX")
	if !strings.HasPrefix(p.text[p.pos:], "u") || len(p.text)-p.pos < length {
		return 0, false
	}
	n, err := strconv.ParseUint(p.text[p.pos+1:p.pos+length], 16, 16)
	if err != nil {
		return 0, false
	}
	p.pos += length
	return rune(n), true
}
