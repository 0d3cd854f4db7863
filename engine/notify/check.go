package notify

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"text/template/parse"
)

// types is a set of types of values. An argument has several if it is the result of and or or.
type types uint8

const (
	text types = 1 << iota
	list
	number
	fraction
	truth
	wholeData
)

// only reports whether a value can have one type, which is among others.
func (t types) only(others types) bool { return bits.OnesCount8(uint8(t)) == 1 && t&others != 0 }

// check returns an error for a node that a template may not have, or that fails for some message: also in a branch that only a
// message in a year takes. The parameter dot is the type of the dot: wholeData, and text inside a range.
func check(node parse.Node, dot types) error {
	switch n := node.(type) {
	case nil, *parse.TextNode, *parse.CommentNode:
		return nil
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		return checkAll(n.Nodes, dot)
	case *parse.ActionNode:
		_, err := typesOfPipe(n.Pipe, dot)
		return err
	case *parse.IfNode:
		if _, err := typesOfPipe(n.Pipe, dot); err != nil {
			return err
		}
		return checkAll([]parse.Node{n.List, n.ElseList}, dot)
	case *parse.RangeNode:
		if dot != wholeData || n.Pipe.String() != ".Details" {
			return errors.New("range is allowed only over .Details, and not inside another range")
		}
		if err := check(n.List, text); err != nil {
			return err
		}
		return check(n.ElseList, dot)
	}
	return fmt.Errorf("%s is not allowed", node)
}

func checkAll(nodes []parse.Node, dot types) error {
	for _, n := range nodes {
		if err := check(n, dot); err != nil {
			return err
		}
	}
	return nil
}

// typesOfPipe returns the types of the result of a pipe.
func typesOfPipe(p *parse.PipeNode, dot types) (types, error) {
	if len(p.Decl) > 0 {
		return 0, errors.New("variables are not allowed")
	}
	var piped []types
	for _, c := range p.Cmds {
		t, err := typesOfCommand(c, piped, dot)
		if err != nil {
			return 0, err
		}
		piped = []types{t}
	}
	return piped[0], nil
}

func typesOfCommand(c *parse.CommandNode, piped []types, dot types) (types, error) {
	f, isCall := c.Args[0].(*parse.IdentifierNode)
	if !isCall {
		if len(c.Args) > 1 || len(piped) > 0 {
			return 0, fmt.Errorf("%s is no function and takes no arguments", c.Args[0])
		}
		return typesOf(c.Args[0], dot)
	}
	var args []types
	for _, n := range c.Args[1:] {
		t, err := typesOf(n, dot)
		if err != nil {
			return 0, err
		}
		args = append(args, t)
	}
	t, err := typesOfCall(f.Ident, append(args, piped...))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c, err)
	}
	return t, nil
}

// typesOf returns the types of an argument.
func typesOf(node parse.Node, dot types) (types, error) {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		v, known := Data{}.fields()[strings.Join(n.Ident, ".")]
		if dot != wholeData || !known {
			return 0, fmt.Errorf("there is no field %s here", n)
		}
		return typeOf(v), nil
	case *parse.StringNode, *parse.BoolNode, *parse.NumberNode:
		v, err := constant(n)
		return typeOf(v), err
	case *parse.PipeNode:
		return typesOfPipe(n, dot)
	case *parse.IdentifierNode:
		return typesOfCall(n.Ident, nil)
	}
	return 0, fmt.Errorf("%s is not allowed", node)
}

// typeOf returns the type of a field or a constant.
func typeOf(v any) types {
	switch v.(type) {
	case string:
		return text
	case []string:
		return list
	case int:
		return number
	case float64:
		return fraction
	}
	return truth
}

// typesOfCall returns the types of the result of a function. An argument is refused if the function fails for one of its types.
func typesOfCall(name string, args []types) (types, error) {
	f := functions[name].(function)
	if n := len(args); n < f.least || n > f.most {
		return 0, fmt.Errorf("%s has %d arguments, which is too few or too many", name, n)
	}
	var all types
	for _, t := range args {
		all |= t
	}
	switch name {
	case "and", "or":
		return all, nil
	case "json":
		return text, nil
	case "len":
		if all&^(text|list) != 0 {
			return 0, errNoLength
		}
		return number, nil
	case "eq", "ne":
		if !all.only(text | number | fraction | truth) {
			return 0, errOtherTypes
		}
	case "lt", "gt":
		if !all.only(text | number | fraction) {
			return 0, errOtherTypes
		}
	}
	return truth, nil
}
