package path

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// refObject is an object decoded by the reference: the first of repeated keys counts, the order is kept.
type refObject struct {
	Keys   []string
	Values map[string]any
}

// refDecode decodes a document with encoding/json alone.
func refDecode(doc []byte) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(doc)))
	d.UseNumber()
	tree, err := refValue(d)
	if err == nil && !json.Valid(doc) {
		err = fmt.Errorf("not JSON")
	}
	return tree, err
}

func refValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		array := []any{}
		for d.More() {
			v, err := refValue(d)
			if err != nil {
				return nil, err
			}
			array = append(array, v)
		}
		_, err = d.Token()
		return array, err
	case json.Delim('{'):
		object := &refObject{Values: map[string]any{}}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := refValue(d)
			if err != nil {
				return nil, err
			}
			if _, repeated := object.Values[key.(string)]; !repeated {
				object.Keys = append(object.Keys, key.(string))
				object.Values[key.(string)] = v
			}
		}
		_, err = d.Token()
		return object, err
	}
	return token, nil
}

// refEqual is JSON equality on decoded documents.
func refEqual(a, b any) bool {
	switch x := a.(type) {
	case *refObject:
		y, ok := b.(*refObject)
		if !ok || len(x.Keys) != len(y.Keys) {
			return false
		}
		for _, k := range x.Keys {
			if v, ok := y.Values[k]; !ok || !refEqual(x.Values[k], v) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, refEqual)
	case json.Number:
		y, ok := b.(json.Number)
		if !ok || x == y {
			return ok
		}
		// Exponents on which big.Rat would spend minutes are equal only as text, as in this package.
		p, okP := refRat(string(x))
		q, okQ := refRat(string(y))
		return okP && okQ && p.Cmp(q) == 0
	default:
		return a == b
	}
}

func refRat(text string) (*big.Rat, bool) {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if n, err := strconv.Atoi(text[i+1:]); err != nil || n > 5000 || n < -5000 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// refMatch is a Match without references.
type refMatch struct {
	Path     int
	Pointer  Pointer
	Value    any // decoded; nil if absent or null
	Exists   bool
	Depth    int
	Elements []int
	Key      string // of the innermost element
}

// refExtract is a slow implementation of Set.Extract's contract, in no particular order between paths.
func refExtract(tree any, paths []Path) []refMatch {
	var matches []refMatch
	for i, p := range paths {
		r := refWalk{path: i}
		r.walk(tree, p.Steps(), refMatch{Path: i})
		matches = append(matches, r.matches...)
	}
	return matches
}

type refWalk struct {
	path    int
	matches []refMatch
}

func (r *refWalk) walk(v any, steps []Step, m refMatch) {
	if len(steps) == 0 {
		m.Value, m.Exists = v, true
		r.matches = append(r.matches, m)
		return
	}
	down := func(child any, token string, index int, selected bool) {
		n := m
		n.Pointer = m.Pointer.Append(token)
		n.Depth++
		if selected {
			n.Elements, n.Key = append(slices.Clone(m.Elements), index), token
		}
		r.walk(child, steps[1:], n)
	}
	object, isObject := v.(*refObject)
	array, isArray := v.([]any)
	switch s := steps[0]; {
	case s.Kind == Field && isObject && slices.Contains(object.Keys, s.Name):
		down(object.Values[s.Name], s.Name, 0, false)
	case s.Kind == Index && isArray && s.Index < len(array):
		down(array[s.Index], strconv.Itoa(s.Index), s.Index, false)
	case s.Kind == Wildcard && isObject:
		for i, k := range object.Keys {
			down(object.Values[k], k, i, true)
		}
	case (s.Kind == Wildcard || s.Kind == Where) && isArray:
		for i, e := range array {
			if s.Kind == Wildcard || refHolds(e, s.Filter) {
				down(e, strconv.Itoa(i), i, true)
			}
		}
	default:
		for _, s := range steps {
			if s.Kind == Wildcard || s.Kind == Where {
				return
			}
			m.Pointer = m.Pointer.Append(s.token())
		}
		r.matches = append(r.matches, m)
	}
}

func refHolds(e any, f Filter) bool {
	for _, s := range f.Key.Steps() {
		object, ok := e.(*refObject)
		if !ok {
			return false
		}
		if e, ok = object.Values[s.Name]; !ok {
			return false
		}
	}
	literal, err := refDecode([]byte(f.Literal))
	return err == nil && refEqual(e, literal) == (f.Op == Equals)
}

// extracted returns the matches of Set.Extract in a form comparable with the reference.
func extracted(doc []byte, paths []Path) ([]refMatch, error) {
	var matches []refMatch
	var failure error
	err := NewSet(paths...).Extract(doc, func(i int, m Match) {
		r := refMatch{Path: i, Pointer: m.Pointer(), Exists: m.Exists(), Depth: m.Depth,
			Elements: m.Elements(), Key: m.ElementKey()}
		if last := len(r.Elements) - 1; last >= 0 && r.Elements[last] != m.Element() || last < 0 && m.Element() != -1 {
			failure = fmt.Errorf("Element %d, Elements %v", m.Element(), r.Elements)
		}
		if m.Exists() {
			var err error
			if r.Value, err = refDecode(m.Raw); err != nil {
				failure = fmt.Errorf("raw value %q: %w", m.Raw, err)
			}
		}
		matches = append(matches, r)
	})
	// Paths are interleaved; the order within one path is part of the contract.
	slices.SortStableFunc(matches, func(a, b refMatch) int { return a.Path - b.Path })
	if err == nil {
		err = failure
	}
	return matches, err
}

// The documents and paths that rapid draws share a small vocabulary, so that paths often lead somewhere.
var (
	refKeys   = []string{"a", "b", "c", "0", "1", "a.b", "x/y", "~", "", "é", `q"\`}
	refLeaves = []string{`1`, `1.0`, `-0`, `2e3`, `9007199254740993`, `"a"`, `"\u0061"`, `"x y"`, `true`, `false`, `null`, `"\ud83d\ude00"`}
	refWords  = []string{`1`, `2000`, `"a"`, `"x y"`, `true`, `0`}
)

// documents draws JSON text of at most the given depth: any white space, escapes where they are not needed, and
// repeated keys if asked for.
func documents(depth int, repeats bool) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		space := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r"}).Draw(t, "space") }
		kind := 0
		if depth > 0 {
			kind = rapid.IntRange(0, 3).Draw(t, "kind")
		}
		var items []string
		switch kind {
		case 0:
			return space() + rapid.SampledFrom(refLeaves).Draw(t, "leaf") + space()
		case 1:
			for range rapid.IntRange(0, 3).Draw(t, "elements") {
				items = append(items, documents(depth-1, repeats).Draw(t, "element"))
			}
			return "[" + strings.Join(items, ",") + space() + "]" + space()
		}
		keys := rapid.SliceOfN(rapid.SampledFrom(refKeys), 0, 4).Draw(t, "keys")
		for i, k := range keys {
			if repeats || !slices.Contains(keys[:i], k) {
				items = append(items, space()+drawKey(t, k)+space()+":"+documents(depth-1, repeats).Draw(t, "value"))
			}
		}
		return space() + "{" + strings.Join(items, ",") + space() + "}" + space()
	})
}

// drawKey writes the key as JSON, some characters as escapes.
func drawKey(t *rapid.T, key string) string {
	if !rapid.Bool().Draw(t, "escape") {
		return quote(key, '"')
	}
	var b strings.Builder
	for _, r := range key {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return `"` + b.String() + `"`
}

// paths draws a path over the same vocabulary.
func paths() *rapid.Generator[Path] {
	return rapid.Custom(func(t *rapid.T) Path {
		var steps []Step
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			s := Step{Kind: rapid.SampledFrom([]StepForm{Field, Field, Field, Index, Wildcard, Where}).Draw(t, "kind")}
			switch s.Kind {
			case Field:
				s.Name = rapid.SampledFrom(refKeys).Draw(t, "name")
			case Index:
				s.Index = rapid.IntRange(0, 2).Draw(t, "index")
			case Where:
				for range rapid.IntRange(0, 2).Draw(t, "key") {
					s.Filter.Key = s.Filter.Key.Field(rapid.SampledFrom(refKeys[:4]).Draw(t, "name"))
				}
				s.Filter.Op = rapid.SampledFrom([]Op{Equals, Differs}).Draw(t, "op")
				s.Filter.Literal = rapid.SampledFrom(refWords).Draw(t, "literal")
			}
			steps = append(steps, s)
		}
		return newPath(steps)
	})
}
