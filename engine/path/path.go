package path

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// StepForm is the form of a Step.
type StepForm uint8

const (
	// Field is .name or ['name']: the member of an object.
	Field StepForm = iota
	// Index is [n]: the element of an array, counted from 0.
	Index
	// Wildcard is [*]: every element of an array or every member of an object.
	Wildcard
	// Where is [?(@.k=="v")]: every element of an array for which the filter holds.
	Where
)

// Op is the comparison of a Filter.
type Op string

const (
	// Equals selects the elements with the literal as value at the filter's key.
	Equals Op = "=="
	// Differs selects the elements with a different value at the filter's key. As in kubectl, an element without the
	// key is selected by neither operator.
	Differs Op = "!="
)

// Filter is the comparison in [?(@.key=="literal")].
type Filter struct {
	// Key is relative to the element and made of fields only; the root path is the element itself.
	Key Path
	// Op is Equals or Differs.
	Op Op
	// Literal is the JSON text of a string, a number or a boolean, in canonical form.
	Literal string
}

// Step is a step of a path. Only the field of the Kind is set.
type Step struct {
	Kind   StepForm
	Name   string // of a Field
	Index  int    // of an Index
	Filter Filter // of a Where
}

// String returns the step in canonical form, e.g. ".spec", "['app.kubernetes.io/name']", "[0]", "[*]".
func (s Step) String() string {
	switch s.Kind {
	case Field:
		if isBareName(s.Name) {
			return "." + s.Name
		}
		return "[" + quote(s.Name, '\'') + "]"
	case Index:
		return "[" + strconv.Itoa(s.Index) + "]"
	case Where:
		key := s.Filter.Key.String()
		return "[?(@" + strings.TrimPrefix(key, rootText) + string(s.Filter.Op) + s.Filter.Literal + ")]"
	default:
		return "[*]"
	}
}

// equal reports whether the two steps select the same values of every document.
func (s Step) equal(t Step) bool {
	return s.Kind == t.Kind && s.Name == t.Name && s.Index == t.Index &&
		s.Filter.Op == t.Filter.Op && s.Filter.Literal == t.Filter.Literal && s.Filter.Key.Equal(t.Filter.Key)
}

// rootText is the canonical text of the path of a whole document.
const rootText = "$"

// Path is a compiled path. It is immutable; its zero value is the root, $, the whole document. A path is never
// absolute: `.count` is read from any given document, and Join appends it to another path. Paths are compared with
// Equal or by String, not with ==.
type Path struct {
	_ [0]func() // forbids ==, which would compare identities
	c *compiled
}

type compiled struct {
	steps []Step
	text  string

	once sync.Once
	set  *Set // the set of this path alone, built on its first read
}

func newPath(steps []Step) Path {
	if len(steps) == 0 {
		return Path{}
	}
	var text strings.Builder
	for _, s := range steps {
		text.WriteString(s.String())
	}
	return Path{c: &compiled{steps: steps, text: text.String()}}
}

// MustParse is Parse for paths that are part of the program; it panics on an error.
func MustParse(text string) Path {
	p, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return p
}

// steps returns the path's own steps; the caller must not change them.
func (p Path) steps() []Step {
	if p.c == nil {
		return nil
	}
	return p.c.steps
}

// String returns the canonical text: two paths with the same text select the same values, and Parse of the text
// returns an equal path.
func (p Path) String() string {
	if p.c == nil {
		return rootText
	}
	return p.c.text
}

// Equal reports whether the two paths have the same canonical text.
func (p Path) Equal(q Path) bool { return p.String() == q.String() }

// Steps returns a copy of the path's steps, from the root downwards.
func (p Path) Steps() []Step { return slices.Clone(p.steps()) }

// Len returns the number of steps.
func (p Path) Len() int { return len(p.steps()) }

// Join returns the path that reads child from the values selected by p: `.spec.nodeSets[*]` joined with `.count` is
// `.spec.nodeSets[*].count`.
func (p Path) Join(child Path) Path {
	if child.Len() == 0 {
		return p
	}
	if p.Len() == 0 {
		return child
	}
	return newPath(slices.Concat(p.steps(), child.steps()))
}

// Field returns the path of the member with the given name. The name may have any characters.
func (p Path) Field(name string) Path {
	return newPath(append(p.Steps(), Step{Kind: Field, Name: name}))
}

// IsPlain reports whether the path is made of fields and indexes only, and so selects at most one value, at the same
// pointer in every document.
func (p Path) IsPlain() bool { return !slices.ContainsFunc(p.steps(), Step.selects) }

// Pointer returns the JSON pointer of a plain path. For a path with a [*] or a filter it returns an error: only the
// matches in a document (All, Set.Extract) have pointers.
func (p Path) Pointer() (Pointer, error) {
	if !p.IsPlain() {
		return "", fmt.Errorf("make a pointer of path %s: it selects elements; resolve it in a document first", p)
	}
	return plainPointer(p.steps()), nil
}

// plainPointer renders steps that are all fields or indexes.
func plainPointer(steps []Step) Pointer {
	var b []byte
	for _, s := range steps {
		b = appendToken(b, s.token())
	}
	return Pointer(b)
}

// token returns the pointer token of a field or an index.
func (s Step) token() string {
	if s.Kind == Index {
		return strconv.Itoa(s.Index)
	}
	return s.Name
}
