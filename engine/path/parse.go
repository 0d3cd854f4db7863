package path

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is the error for a text that is not a path.
type Error struct {
	// Path is the given text.
	Path string
	// Column is the place of the fault: 1-based, counted in characters of Path; one past the end for a missing part.
	Column int
	// Reason is the fault and the right form.
	Reason string
}

// Error returns the text, the column and the reason in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("path %q: column %d: %s", e.Path, e.Column, e.Reason)
}

// Parse compiles a path. The error is always an *Error.
func Parse(text string) (Path, error) {
	p := &parser{text: text}
	steps, err := p.path()
	if err != nil {
		return Path{}, err
	}
	return newPath(steps), nil
}

const eof = rune(-1)

// parser reads a path from left to right; pos is a byte offset into text.
type parser struct {
	text   string
	pos    int
	braced bool
}

func (p *parser) errorAt(offset int, format string, args ...any) error {
	return &Error{Path: p.text, Column: column(p.text, offset), Reason: fmt.Sprintf(format, args...)}
}

// peek returns the next character without consuming it.
func (p *parser) peek() rune {
	if p.pos >= len(p.text) {
		return eof
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return r
}

// accept consumes s if it comes next.
func (p *parser) accept(s string) bool {
	if !strings.HasPrefix(p.text[p.pos:], s) {
		return false
	}
	p.pos += len(s)
	return true
}

func (p *parser) path() ([]Step, error) {
	if i := invalidUTF8(p.text); i >= 0 {
		return nil, p.errorAt(i, "the text is not valid UTF-8")
	}
	if p.text == "" {
		return nil, p.errorAt(0, "the path is empty: write $ for the whole object")
	}
	p.braced = p.accept("{")
	p.accept("$")
	if rest := p.text[p.pos:]; rest == "." || p.braced && rest == ".}" {
		p.pos++ // a lone dot is the root, as in kubectl
	}
	var steps []Step
	for !p.atEnd() {
		step, err := p.step(len(steps) == 0)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	if p.braced && !p.accept("}") {
		return nil, p.errorAt(p.pos, "the opening { has no closing }")
	}
	if p.pos < len(p.text) {
		return nil, p.errorAt(p.pos, "text follows the closing }: write one path only")
	}
	return steps, nil
}

func (p *parser) atEnd() bool {
	return p.pos >= len(p.text) || p.braced && p.text[p.pos] == '}'
}

func (p *parser) step(first bool) (Step, error) {
	switch c := p.peek(); {
	case c == '.':
		return p.dotted("")
	case c == '[':
		return p.bracket()
	case unicode.IsSpace(c):
		return Step{}, p.errorAt(p.pos, "white space is not part of a path: remove it")
	case c == '@':
		return Step{}, p.errorAt(p.pos, "@ is known only inside a filter: start the path with . or [")
	case first:
		return Step{}, p.errorAt(p.pos, "a path starts with . or [: write .%s", p.text[p.pos:])
	default:
		return Step{}, p.errorAt(p.pos, "expected . or [ before %q", c)
	}
}

// reserved are the characters, besides white space and control characters, that a name after a dot must escape.
const reserved = `.[]{}()$@,*?'"\=!<>&|;`

// dotted reads .name. Besides . and [ (and the closing brace), the name ends at any of the characters in stops.
func (p *parser) dotted(stops string) (Step, error) {
	dot := p.pos
	p.pos++
	switch p.peek() {
	case '.':
		return Step{}, p.errorAt(dot, "recursion (..) is not supported: write the path out in full")
	case '*':
		return Step{}, p.errorAt(p.pos, "write [*] instead of .*")
	case '[':
		return Step{}, p.errorAt(dot, "remove the dot before [")
	}
	var name strings.Builder
	for {
		c := p.peek()
		switch {
		case c == eof, c == '.', c == '[', c == '}' && p.braced, strings.ContainsRune(stops, c):
			if name.Len() == 0 {
				return Step{}, p.errorAt(p.pos, "a name must follow the dot")
			}
			return Step{Kind: Field, Name: name.String()}, nil
		case c == '\\':
			p.pos++
			if c = p.peek(); c == eof || isAlphanumeric(c) {
				return Step{}, p.errorAt(p.pos-1, `\ escapes one mark, as in \. : write \\ for a backslash itself`)
			}
		case c == ']':
			return Step{}, p.errorAt(p.pos, "] has no opening [")
		case unicode.IsSpace(c):
			return Step{}, p.errorAt(p.pos, "white space cannot stand in a name: remove it or put the name in ['...']")
		case unicode.IsControl(c), strings.ContainsRune(reserved, c):
			return Step{}, p.errorAt(p.pos, `%q cannot stand in a name: write \%c or put the name in ['...']`, c, c)
		}
		name.WriteRune(c)
		p.pos += utf8.RuneLen(c)
	}
}

// bracket reads any of the [...] forms.
func (p *parser) bracket() (Step, error) {
	open := p.pos
	p.pos++
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		name, err := p.quoted()
		if err != nil {
			return Step{}, err
		}
		return Step{Kind: Field, Name: name}, p.closeBracket(open)
	case c == '*':
		p.pos++
		return Step{Kind: Wildcard}, p.closeBracket(open)
	case c == '?':
		return p.filter(open)
	case isDigit(c):
		return p.index(open)
	default:
		return Step{}, p.badBracket(open)
	}
}

func (p *parser) index(open int) (Step, error) {
	start := p.pos
	for isDigit(p.peek()) {
		p.pos++
	}
	digits := p.text[start:p.pos]
	if len(digits) > 1 && digits[0] == '0' {
		return Step{}, p.errorAt(start, "an index has no leading zero")
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt32 {
		return Step{}, p.errorAt(start, "the index is too large: at most %d", math.MaxInt32)
	}
	return Step{Kind: Index, Index: int(n)}, p.closeBracket(open)
}

// closeBracket consumes the ] that ends a complete bracket form.
func (p *parser) closeBracket(open int) error {
	if p.accept("]") {
		return nil
	}
	switch c := p.peek(); c {
	case eof:
		return p.errorAt(open, "the opening [ has no closing ]")
	case ',':
		return p.errorAt(p.pos, "unions [a,b] are not supported: write one path for each")
	case ':':
		return p.errorAt(p.pos, "slices [a:b] are not supported: write one index, [*] or a filter")
	default:
		return p.errorAt(p.pos, "expected ] before %q", c)
	}
}

// badBracket explains a bracket that begins with none of the known forms.
func (p *parser) badBracket(open int) error {
	start := p.pos
	switch c := p.peek(); {
	case c == eof:
		return p.errorAt(open, "the opening [ has no closing ]")
	case c == ']':
		return p.errorAt(start, "the brackets are empty: write [0], [*] or ['key']")
	case c == '(':
		return p.errorAt(start, `scripts (...) are not supported: write an index, [*] or a filter [?(@.key=="value")]`)
	case c == '-':
		return p.errorAt(start, `negative indexes are not supported: count from the start or write a filter [?(@.key=="value")]`)
	case unicode.IsSpace(c):
		return p.errorAt(start, "white space is not part of a path: remove it")
	}
	for p.peek() != eof && !strings.ContainsRune("],:", p.peek()) {
		p.pos += utf8.RuneLen(p.peek())
	}
	if c := p.peek(); c == ',' || c == ':' {
		return p.closeBracket(open)
	}
	word := p.text[start:p.pos]
	return p.errorAt(start, "a key in brackets is quoted: write [%s]", quote(word, '\''))
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(s string) int {
	for i, r := range s {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
			return i
		}
	}
	return -1
}
