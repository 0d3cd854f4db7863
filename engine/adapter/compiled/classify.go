package compiled

import (
	"cmp"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// value returns the JSON text of a result; empty if the result is absent or null.
func value(r rawjson.Value) string {
	if r.Type == rawjson.Null {
		return ""
	}
	return r.Raw
}

// differ returns the actions of the difference of two values. rules are the rules for the value, the most specific
// first. inherited is the action of the deepest rule above the value.
func differ(before, after string, rules []*Rule, inherited workload.Change) workload.Change {
	if before == after || isWithdrawn(before, after, rules) || inherited == 0 &&
		!slices.ContainsFunc(rules, func(r *Rule) bool { return !r.isLeaf() }) {
		return 0
	}
	inner := slices.DeleteFunc(slices.Clone(rules), (*Rule).isLeaf)
	if len(inner) == 0 {
		return differAsWhole(before, after, rules, inherited)
	}
	switch kindOf(before) + kindOf(after) {
	case "{{", "{\x00", "\x00{":
		return differAsObject(before, after, inner, inherited)
	case "[[", "[\x00", "\x00[":
		return differAsList(before, after, inner, inherited)
	}
	if path.Same(before, after) {
		return 0
	}
	// The kind of value has changed: everything inside was removed, and everything inside is new.
	return inherited | differInside(before, inner, inherited) | differInside(after, inner, inherited)
}

func differInside(container string, inner []*Rule, inherited workload.Change) workload.Change {
	switch kindOf(container) {
	case "{":
		return differAsObject(container, "", inner, inherited)
	case "[":
		return differAsList(container, "", inner, inherited)
	}
	return 0
}

// kindOf returns { or [ for containers, \x00 for an absent value and s for any other.
func kindOf(raw string) string {
	switch {
	case raw == "":
		return "\x00"
	case raw[0] == '{' || raw[0] == '[':
		return raw[:1]
	}
	return "s"
}

func differAsWhole(before, after string, rules []*Rule, inherited workload.Change) workload.Change {
	for _, r := range rules {
		if r.Absent != "" {
			before, after = cmp.Or(before, r.Absent), cmp.Or(after, r.Absent)
			break
		}
	}
	if path.Same(before, after) {
		return 0
	}
	return inherited
}

type pair struct{ key, value string }

// members are the members of an object, or the elements of a list, in order.
type members struct {
	list []pair
	// sorted are the indexes in order of their keys; nil until they are needed.
	sorted []int
}

func membersOf(raw string) members {
	var m members
	rawjson.Parse(raw).ForEach(func(k, v rawjson.Value) bool {
		m.list = append(m.list, pair{k.Str, value(v)})
		return true
	})
	return m
}

// differAsObject compares the members of two objects. An absent object has no members. If an empty object is added or
// removed, this is a difference too.
func differAsObject(before, after string, inner []*Rule, inherited workload.Change) workload.Change {
	olds, news := membersOf(before), membersOf(after)
	var all workload.Change
	if (before == "" || after == "") && max(len(olds.list), len(news.list)) == 0 {
		all = inherited
	}
	for i, m := range news.list {
		before, _ := olds.find(m.key, i)
		all |= differMember(m.key, before, m.value, inner, inherited)
	}
	for i, m := range olds.list {
		if _, stays := news.find(m.key, i); !stays {
			all |= differMember(m.key, m.value, "", inner, inherited)
		}
	}
	return all
}

// few is the largest number of members that find searches one by one.
const few = 16

// find returns the value of a key, which is likely at index i. Of repeated keys it finds the first. Users determine the
// number of members, so a search must not look at each of many.
func (m *members) find(key string, i int) (value string, ok bool) {
	if i < len(m.list) && m.list[i].key == key {
		return m.list[i].value, true
	}
	if len(m.list) <= few {
		i = slices.IndexFunc(m.list, func(p pair) bool { return p.key == key })
		if i < 0 {
			return "", false
		}
		return m.list[i].value, true
	}
	if m.sorted == nil {
		m.sorted = make([]int, len(m.list))
		for i := range m.sorted {
			m.sorted[i] = i
		}
		slices.SortFunc(m.sorted, func(a, b int) int { return cmp.Or(strings.Compare(m.list[a].key, m.list[b].key), a-b) })
	}
	at, ok := slices.BinarySearchFunc(m.sorted, key, func(i int, key string) int { return strings.Compare(m.list[i].key, key) })
	if !ok {
		return "", false
	}
	return m.list[m.sorted[at]].value, true
}

func differMember(key, before, after string, inner []*Rule, inherited workload.Change) workload.Change {
	if before == after {
		return 0
	}
	var rules []*Rule
	for _, r := range inner {
		if n := r.fields[key]; n != nil {
			rules = append(rules, n)
		}
	}
	return differPart(before, after, rules, inner, inherited)
}

// differPart compares a member or an element. named are the rules for this member or element. The rules of inner for
// every member or element come after them.
func differPart(before, after string, named, inner []*Rule, inherited workload.Change) workload.Change {
	for _, r := range inner {
		if r.wild != nil {
			named = append(named, r.wild)
		}
	}
	return differ(before, after, named, actionOf(named, inherited))
}

// actionOf returns the action of the most specific rule that has one.
func actionOf(rules []*Rule, inherited workload.Change) workload.Change {
	for _, r := range rules {
		if r.Set {
			return r.Action
		}
	}
	return inherited
}

// differAsList compares elements by index. A different length of the list is a difference too.
func differAsList(before, after string, inner []*Rule, inherited workload.Change) workload.Change {
	olds, news := membersOf(before).list, membersOf(after).list
	var all workload.Change
	if len(olds) != len(news) || len(olds)+len(news) == 0 {
		all = inherited
	}
	at := func(elements []pair, i int) string {
		if i < len(elements) {
			return elements[i].value
		}
		return ""
	}
	for i := range max(len(olds), len(news)) {
		all |= differElement(i, at(olds, i), at(news, i), inner, inherited)
	}
	return all
}

func differElement(i int, before, after string, inner []*Rule, inherited workload.Change) workload.Change {
	if before == after {
		return 0
	}
	var rules []*Rule
	for _, r := range inner {
		if n := r.indexes[i]; n != nil {
			rules = append(rules, n)
		}
	}
	for _, r := range inner {
		for _, f := range r.filters {
			if f.selects(before) || f.selects(after) {
				rules = append(rules, f.to)
			}
		}
	}
	return differPart(before, after, rules, inner, inherited)
}

// selects reports whether the filter matches an element.
func (f *filterRule) selects(element string) bool {
	if element == "" {
		return false
	}
	found, err := f.step.Filter.Key.Get([]byte(element))
	if err != nil || !found.Exists() {
		return false
	}
	return path.Equal(found.Raw(), f.step.Filter.Literal) == (f.step.Filter.Op == path.Equals)
}

// Classify returns the actions of the difference of two objects, by the rules below r.
func (r *Rule) Classify(before, after []byte) workload.Change {
	return differ(value(rawjson.ParseBytes(before)), value(rawjson.ParseBytes(after)), []*Rule{r}, r.Action)
}

// isWithdrawn reports whether the difference of two values is only the removal of a request, or of some requests of a
// list.
func isWithdrawn(before, after string, rules []*Rule) bool {
	if !slices.ContainsFunc(rules, func(r *Rule) bool { return r.Request }) {
		return false
	}
	if after == "" {
		return true
	}
	if kindOf(before) != "[" || kindOf(after) != "[" {
		return false
	}
	old, rest := rawjson.Parse(before).Array(), rawjson.Parse(after).Array()
	if len(rest) >= len(old) || len(old) > maxRequests {
		return false
	}
	for _, left := range rest {
		if !slices.ContainsFunc(old, func(o rawjson.Value) bool { return path.Same(o.Raw, left.Raw) }) {
			return false
		}
	}
	return true
}

// maxRequests is the largest number of requests in a list that isWithdrawn compares. No controller has as many at once.
const maxRequests = 256
