package selector

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// names is a list of names and globs. The zero list is empty and matches no name.
type names struct {
	exact sets.Set[string]
	globs []string // sorted
}

// IsGlob reports whether an entry of names is a glob: a text in which each * stands for any text, even none.
func IsGlob(entry string) bool { return strings.Contains(entry, "*") }

// unlikeNames are characters that no name contains and that other pattern languages give a meaning.
const unlikeNames = "?[]{}()^$+|\\!, \t\n"

// namesOf compiles a list of names and globs. If excluded is true, a glob that matches every name is an error, because
// nothing would be left.
func namesOf(list []string, excluded bool, at *field.Path) (n names, errs field.ErrorList) {
	for i, entry := range list {
		switch {
		case strings.ContainsAny(entry, unlikeNames):
			errs = append(errs, field.Invalid(at.Index(i), entry, meaning(entry)))
		case excluded && strings.Trim(entry, "*") == "":
			errs = append(errs, field.Invalid(at.Index(i), entry,
				"matches every name, so the policy would select nothing: write a part of the names, such as web-*"))
		case IsGlob(entry):
			n.globs = append(n.globs, entry)
		default:
			if n.exact == nil { // even an empty set would take memory in each policy
				n.exact = sets.New[string]()
			}
			n.exact.Insert(entry)
		}
	}
	slices.Sort(n.globs)
	n.globs = slices.Compact(n.globs)
	return n, errs
}

// meaning returns the advice about an entry in another pattern language.
func meaning(entry string) string {
	switch {
	case strings.HasPrefix(entry, "!"):
		return "! is no part of a name: list the names to leave out under excludeNames or excludeNamespaces"
	case strings.Contains(entry, ","):
		return "a comma is no part of a name: write each name as an element of the list"
	}
	return "is neither a name nor a glob: in a glob only * has a meaning, any text, such as dev-* or *-preview; write other patterns as " +
		"several elements"
}

// has reports whether a name is in the list or matches a glob of it.
func (n *names) has(name string) bool {
	return n.exact.Has(name) || slices.ContainsFunc(n.globs, func(glob string) bool { return globMatches(glob, name) })
}

func (n *names) len() int { return n.exact.Len() + len(n.globs) }

// list returns the entries, the names first.
func (n *names) list() []string { return append(sets.List(n.exact), n.globs...) }

// globMatches reports whether a name matches a glob. Each part between two stars is matched at its first place, because
// this leaves the most text for the later parts.
func globMatches(glob, name string) bool {
	part, rest, _ := strings.Cut(glob, "*")
	name, ok := strings.CutPrefix(name, part)
	for ok {
		var more bool
		if part, rest, more = strings.Cut(rest, "*"); !more {
			return strings.HasSuffix(name, part)
		}
		_, name, ok = strings.Cut(name, part)
	}
	return false
}
