package schemas

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// require adds to allOf of a schema, as JSON Schema, the CEL rules that depend only on the presence of fields or on the
// form of a text. It leaves out all other rules. Each part of allOf has the message of its rule as its description.
func require(s schema) {
	var all []schema
	rules, _ := s["x-kubernetes-validations"].([]any)
	for _, r := range rules {
		rule, _ := r.(schema)["rule"].(string)
		message, _ := r.(schema)["message"].(string)
		if m := matchRule.FindStringSubmatch(rule); m != nil {
			all = append(all, schema{"pattern": m[1], "description": message})
		}
		if fields, holds, ok := presenceRule(rule); ok {
			for _, clause := range clauses(fields, holds) {
				clause["description"] = message
				all = append(all, clause)
			}
		}
	}
	if len(all) > 0 {
		s["allOf"] = all
	}
}

// clauses returns schemas that together accept exactly the sets of fields for which a rule holds. Each schema refuses
// one combination of present and absent fields, with as few fields as possible.
func clauses(fields []string, holds func(present func(string) bool) bool) (all []schema) {
	cubes := 1
	for range fields {
		cubes *= 3
	}
	refused := make([]bool, cubes)
	for cube := range cubes {
		refused[cube] = !slices.ContainsFunc(members(cube, len(fields)), func(set int) bool {
			return holds(func(name string) bool { return set&(1<<slices.Index(fields, name)) != 0 })
		})
	}
	for cube := range cubes {
		if !refused[cube] || widens(cube, len(fields), refused) {
			continue
		}
		var choices []schema
		for i, n := 0, cube; i < len(fields); i, n = i+1, n/3 {
			switch has := (schema{"required": []string{fields[i]}}); n % 3 {
			case 1:
				choices = append(choices, schema{"not": has})
			case 2:
				choices = append(choices, has)
			}
		}
		all = append(all, schema{"anyOf": choices})
	}
	return all
}

// members returns the sets of fields in a cube, as bit masks. A cube has one ternary digit for each field: 0 if the
// field may be present or absent, 1 if it is present, 2 if it is absent.
func members(cube, fields int) []int {
	sets := []int{0}
	for i := range fields {
		var next []int
		for _, set := range sets {
			if cube%3 != 2 {
				next = append(next, set|1<<i)
			}
			if cube%3 != 1 {
				next = append(next, set)
			}
		}
		sets, cube = next, cube/3
	}
	return sets
}

// widens reports whether the rule refuses the cube already after one of its digits is set to 0.
func widens(cube, fields int, refused []bool) bool {
	for i, place, n := 0, 1, cube; i < fields; i, place, n = i+1, place*3, n/3 {
		if digit := n % 3; digit != 0 && refused[cube-digit*place] {
			return true
		}
	}
	return false
}

var (
	token = regexp.MustCompile(`\s*(has\(self\.\w+\)|&&|\|\||==|!=|[-!?:+()\[\],]|\d+|\.filter\(x, x\)\.size\(\)|\S)`)
	// matchRule is a rule about the form of a text.
	matchRule = regexp.MustCompile(`^self\.matches\('([^']*)'\)$`)
	hasCall   = regexp.MustCompile(`^has\(self\.(\w+)\)$`)
)

// presenceRule reads a CEL rule that depends only on the presence of fields. ok is false for any other rule.
func presenceRule(rule string) (fields []string, holds func(present func(string) bool) bool, ok bool) {
	var tokens []string
	for _, m := range token.FindAllStringSubmatch(strings.Join(strings.Fields(rule), " "), -1) {
		tokens = append(tokens, m[1])
		if f := hasCall.FindStringSubmatch(m[1]); f != nil && !slices.Contains(fields, f[1]) {
			fields = append(fields, f[1])
		}
	}
	holds = func(present func(string) bool) bool {
		r := &reader{tokens: tokens, present: present}
		return r.choice() != 0 && r.err == nil && len(r.tokens) == 0
	}
	r := &reader{tokens: tokens, present: func(string) bool { return true }}
	r.choice()
	return fields, holds, r.err == nil && len(r.tokens) == 0 && len(fields) > 0
}

// reader evaluates a rule while it reads the tokens. The value of a true expression is 1.
type reader struct {
	tokens  []string
	present func(string) bool
	err     error
}

// next removes and returns the next token if it is one of the wanted tokens, or if no tokens are wanted; otherwise "".
func (r *reader) next(wanted ...string) string {
	if len(r.tokens) == 0 || len(wanted) > 0 && !slices.Contains(wanted, r.tokens[0]) {
		return ""
	}
	t := r.tokens[0]
	r.tokens = r.tokens[1:]
	return t
}

func (r *reader) expect(t string) {
	if r.next(t) == "" && r.err == nil {
		r.err = fmt.Errorf("no %s", t)
	}
}

func (r *reader) choice() int {
	is := r.or()
	if r.next("?") == "" {
		return is
	}
	yes := r.choice()
	r.expect(":")
	if no := r.choice(); is == 0 {
		return no
	}
	return yes
}

func (r *reader) or() int {
	is := r.and()
	for r.next("||") != "" {
		is |= r.and()
	}
	return is
}

func (r *reader) and() int {
	is := r.compare()
	for r.next("&&") != "" {
		is &= r.compare()
	}
	return is
}

func (r *reader) compare() int {
	is := r.sum()
	switch r.next("==", "!=") {
	case "==":
		return truth(is == r.sum())
	case "!=":
		return truth(is != r.sum())
	}
	return is
}

func (r *reader) sum() int {
	n := r.single()
	for r.next("+") != "" {
		n += r.single()
	}
	return n
}

func (r *reader) single() int {
	t := r.next()
	if f := hasCall.FindStringSubmatch(t); f != nil {
		return truth(r.present(f[1]))
	}
	if n, err := strconv.Atoi(t); err == nil {
		return n
	}
	switch t {
	case "!":
		return 1 - r.single()
	case "(":
		n := r.choice()
		r.expect(")")
		return n
	case "[": // the number of true expressions in a list
		n := r.choice()
		for r.next(",") != "" {
			n += r.choice()
		}
		r.expect("]")
		r.expect(".filter(x, x).size()")
		return n
	}
	r.err = fmt.Errorf("cannot read %q", t)
	return 0
}

func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}
