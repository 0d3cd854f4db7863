package notify

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template/parse"
)

// function is a function of templates, with its least and largest number of arguments.
type function struct {
	least, most int
	of          func(args []any) (any, error)
}

// manyArguments is the largest number of arguments of a function.
const manyArguments = 100

// functions are the functions of templates. All others of text/template are refused: their results can be of any length.
var functions = map[string]any{
	"json": function{1, 1, func(args []any) (any, error) { return jsonText(args[0]) }},
	"eq":   function{2, manyArguments, isAnyEqual},
	"ne":   function{2, 2, func(args []any) (any, error) { same, err := isEqual(args[0], args[1]); return !same, err }},
	"lt":   function{2, 2, func(args []any) (any, error) { order, err := compare(args[0], args[1]); return order < 0, err }},
	"gt":   function{2, 2, func(args []any) (any, error) { order, err := compare(args[0], args[1]); return order > 0, err }},
	"and":  function{1, manyArguments, func(args []any) (any, error) { return firstOrLast(args, false), nil }},
	"or":   function{1, manyArguments, func(args []any) (any, error) { return firstOrLast(args, true), nil }},
	"not":  function{1, 1, func(args []any) (any, error) { return !isTrue(args[0]), nil }},
	"len":  function{1, 1, func(args []any) (any, error) { return length(args[0]) }},
}

// render writes a checked node of a template. The parameter dot is the Data, and a detail inside a range. The nodes are those of
// text/template, and so are their meanings. That package itself calls methods by name, so a program with it keeps every exported
// method of every type: 11 MB of the manager (Go 1.26).
func render(out io.Writer, node parse.Node, dot any) error {
	switch n := node.(type) {
	case *parse.TextNode:
		_, err := out.Write(n.Text)
		return err
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, part := range n.Nodes {
			if err := render(out, part, dot); err != nil {
				return err
			}
		}
	case *parse.ActionNode:
		v, err := valueOfPipe(n.Pipe, dot)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(out, v)
		return err
	case *parse.IfNode:
		v, err := valueOfPipe(n.Pipe, dot)
		if err != nil {
			return err
		}
		if isTrue(v) {
			return render(out, n.List, dot)
		}
		return render(out, n.ElseList, dot)
	case *parse.RangeNode:
		details := dot.(Data).Details // no range is inside another
		if len(details) == 0 {
			return render(out, n.ElseList, dot)
		}
		for _, d := range details {
			if err := render(out, n.List, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// valueOfPipe returns the value of the last command. Each command gets the value before it as its last argument.
func valueOfPipe(p *parse.PipeNode, dot any) (any, error) {
	var piped []any
	for _, c := range p.Cmds {
		var v any
		var err error
		if f, isCall := c.Args[0].(*parse.IdentifierNode); isCall {
			v, err = call(f.Ident, c.Args[1:], piped, dot)
		} else if len(c.Args) > 1 || len(piped) > 0 {
			err = fmt.Errorf("%s is no function and takes no arguments", c.Args[0])
		} else {
			v, err = valueOf(c.Args[0], dot)
		}
		if err != nil {
			return nil, err
		}
		piped = []any{v}
	}
	return piped[0], nil
}

// valueOf returns the value of an argument.
func valueOf(node parse.Node, dot any) (any, error) {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		d, isData := dot.(Data)
		v, known := d.fields()[strings.Join(n.Ident, ".")]
		if !isData || !known {
			return nil, fmt.Errorf("there is no field %s here", n)
		}
		return v, nil
	case *parse.PipeNode:
		return valueOfPipe(n, dot)
	case *parse.IdentifierNode:
		return call(n.Ident, nil, nil, dot)
	}
	return constant(node)
}

// constant returns the value of a constant.
func constant(node parse.Node) (any, error) {
	switch n := node.(type) {
	case *parse.StringNode:
		return n.Text, nil
	case *parse.BoolNode:
		return n.True, nil
	case *parse.NumberNode:
		if n.IsComplex {
			break
		}
		if isFraction(n) {
			return n.Float64, nil
		}
		if n.IsInt && int64(int(n.Int64)) == n.Int64 {
			return int(n.Int64), nil
		}
	}
	return nil, fmt.Errorf("%s is not allowed", node)
}

// isFraction reports whether a number is written as a fraction, even if it is whole: 1.0, 1e3 and 0x1p4 are; 0x1e3 and '.' are not
// (text/template, idealConstant, Go 1.26).
func isFraction(n *parse.NumberNode) bool {
	isHex := strings.HasPrefix(n.Text, "0x") || strings.HasPrefix(n.Text, "0X")
	isWholeHex := isHex && !strings.ContainsAny(n.Text, "pP")
	return n.IsFloat && !isWholeHex && n.Text[0] != '\'' && strings.ContainsAny(n.Text, ".eEpP")
}

// call returns the result of a function. The functions and, or look at no argument after the deciding one.
func call(name string, nodes []parse.Node, piped []any, dot any) (any, error) {
	f := functions[name].(function)
	if n := len(nodes) + len(piped); n < f.least || n > f.most {
		return nil, fmt.Errorf("%s has %d arguments, which is too few or too many", name, n)
	}
	var args []any
	for _, n := range nodes {
		v, err := valueOf(n, dot)
		if err != nil {
			return nil, err
		}
		if name == "and" && !isTrue(v) || name == "or" && isTrue(v) {
			return v, nil
		}
		args = append(args, v)
	}
	v, err := f.of(append(args, piped...))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// isTrue reports whether a value counts as true: it is not empty, zero or false.
func isTrue(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case []string:
		return len(v) > 0
	case int:
		return v != 0
	case float64:
		return v != 0
	case bool:
		return v
	}
	return true
}

// firstOrLast returns the first value that counts as wanted, or else the last value.
func firstOrLast(args []any, wanted bool) any {
	for _, v := range args {
		if isTrue(v) == wanted {
			return v
		}
	}
	return args[len(args)-1]
}

func isAnyEqual(args []any) (any, error) {
	for _, other := range args[1:] {
		if same, err := isEqual(args[0], other); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func isEqual(a, b any) (bool, error) {
	if a, ok := a.(bool); ok {
		if b, ok := b.(bool); ok {
			return a == b, nil
		}
	}
	order, err := compare(a, b)
	return order == 0, err
}

var (
	errOtherTypes = errors.New("values of these types cannot be compared")
	errNoLength   = errors.New("only texts and lists have a length")
)

// compare returns the order of two values of one type.
func compare(a, b any) (int, error) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b), nil
		}
	case int:
		if b, ok := b.(int); ok {
			return cmp.Compare(a, b), nil
		}
	case float64:
		if b, ok := b.(float64); ok {
			return cmp.Compare(a, b), nil
		}
	}
	return 0, errOtherTypes
}

// length returns the length of a text in bytes, or of a list.
func length(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return len(v), nil
	case []string:
		return len(v), nil
	}
	return nil, errNoLength
}

func jsonText(v any) (any, error) {
	text, err := json.Marshal(v)
	if err == nil && len(text) > maxText { // each json of a json doubles the backslashes
		err = fmt.Errorf("the text is longer than %d bytes", maxText)
	}
	return string(text), err
}
