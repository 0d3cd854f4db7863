package demand

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// SelectorLabel is the label of the series that prove a selector of the demand to have fresh samples. Its value is the
// index of the selector.
const SelectorLabel = "flyball_selector"

// Query is a demand in the form in which Prometheus is asked. Each selector counts only series with a sample of the last
// two intervals. For two intervals after its last sample, a series that vanished has the value +Inf in place of its last
// value, which stays +Inf through sums. So a sum with a lost part is no demand of 0.
type Query struct {
	// Now is the query of an instant.
	Now string
	// Selectors are the selectors of the demand, by index.
	Selectors []string
	interval  time.Duration
}

// Bind restricts each selector of a demand to series with a label: the label's value is the namespace of the demand's author.
type Bind struct{ Label, Value string }

var grammar = parser.NewParser(parser.Options{})

// Parse returns the query of a demand. A zero bind restricts nothing. The error is about the demand.
func Parse(text string, interval time.Duration, bind Bind) (*Query, error) {
	expr, err := grammar.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	if expr.Type() != parser.ValueTypeVector {
		return nil, fmt.Errorf("must have a series for each target, and is a %s", parser.DocumentedType(expr.Type()))
	}
	q := &Query{interval: interval}
	g := guard{query: q, bind: bind}
	guarded := g.guard(expr)
	if len(g.errs) > 0 {
		return nil, errors.Join(g.errs...)
	}
	if len(q.Selectors) == 0 {
		return nil, errors.New("must have a selector, such as haproxy_backend_http_requests_total")
	}
	q.Now = "(" + guarded.String() + ")"
	for i, selector := range q.Selectors {
		q.Now += fmt.Sprintf(` or label_replace(count(%s), %q, "%d", "", "")`, q.fresh(selector), SelectorLabel, i)
	}
	_, err = grammar.ParseExpr(q.Now)
	return q, err
}

// Past returns the query of the largest demand during each step of a range. A series without a number at each instant of a step has the
// value +Inf there: that of the other instants, and the lost part, may be use.
func (q *Query) Past(step time.Duration) string {
	all := fmt.Sprintf("((%s) > -Inf)[%s:%s]", q.Now, seconds(step), seconds(q.interval))
	whole := fmt.Sprintf("max_over_time(%s) and (count_over_time(%s) >= %d)", all, all, step/q.interval)
	return fmt.Sprintf("(%s) or clamp_min(max_over_time(%s), Inf)", whole, all)
}

// fresh returns a query of the instants of the fresh samples of a selector.
func (q *Query) fresh(selector string) string {
	return fmt.Sprintf("(timestamp(%s) >= time() - %s)", selector, strconv.FormatFloat(2*q.interval.Seconds(), 'f', -1, 64))
}

func seconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }

// guard rewrites a demand into the form of Query.
type guard struct {
	query *Query
	bind  Bind
	errs  []error
}

func (g *guard) refuse(format string, args ...any) {
	g.errs = append(g.errs, fmt.Errorf(format, args...))
}

// guard returns an expression with guarded selectors. It may change the given expression.
func (g *guard) guard(e parser.Expr) parser.Expr {
	switch e := e.(type) {
	case *parser.AggregateExpr:
		e.Expr = g.guard(e.Expr)
		if e.Param != nil {
			e.Param = g.guard(e.Param)
		}
	case *parser.BinaryExpr:
		e.LHS, e.RHS = g.guard(e.LHS), g.guard(e.RHS)
	case *parser.ParenExpr:
		e.Expr = g.guard(e.Expr)
	case *parser.UnaryExpr:
		e.Expr = g.guard(e.Expr)
	case *parser.Call:
		return g.call(e)
	case *parser.VectorSelector:
		text := g.selector(e)
		return g.whole(text, text)
	case *parser.NumberLiteral, *parser.StringLiteral:
	default:
		g.refuse("must not have %s: a demand is that of the present", e)
	}
	return e
}

// unfit are functions whose result is not that of a series: the guard would change its meaning.
var unfit = []string{"absent_over_time", "timestamp", "info"}

func (g *guard) call(c *parser.Call) parser.Expr {
	if slices.Contains(unfit, c.Func.Name) {
		g.refuse("must not call %s", c.Func.Name)
		return c
	}
	var over *parser.MatrixSelector // a function has at most one range
	for i, arg := range c.Args {
		if m, isRange := arg.(*parser.MatrixSelector); isRange {
			over = m
		} else {
			c.Args[i] = g.guard(arg)
		}
	}
	if over == nil {
		return c
	}
	v, ok := over.VectorSelector.(*parser.VectorSelector)
	if !ok {
		g.refuse("must not have %s", over)
		return c
	}
	if over.Range < 2*g.query.interval {
		g.refuse("%s reaches back %s: at least two intervals, %s, or demand between two queries is missed", over, over.Range, 2*g.query.interval)
	}
	selector := g.selector(v)
	return g.whole(c.String(), selector)
}

// selector restricts and records a selector, and returns its text.
func (g *guard) selector(v *parser.VectorSelector) string {
	if v.OriginalOffset != 0 || v.Offset != 0 || v.Timestamp != nil || v.StartOrEnd != 0 || v.OriginalOffsetExpr != nil {
		g.refuse("must not have %s: a demand is that of the present", v)
	}
	if g.bind.Label != "" {
		m, err := labels.NewMatcher(labels.MatchEqual, g.bind.Label, g.bind.Value)
		if err != nil {
			g.errs = append(g.errs, err)
			return v.String()
		}
		v.LabelMatchers = append(v.LabelMatchers, m)
	}
	text := v.String()
	if !slices.Contains(g.query.Selectors, text) {
		g.query.Selectors = append(g.query.Selectors, text)
	}
	return text
}

// whole returns a value of a selector for its fresh series, and +Inf for its series that vanished. Neither has a name, because a step of
// the history can have both.
func (g *guard) whole(value, selector string) parser.Expr {
	fresh := g.query.fresh(selector)
	text := fmt.Sprintf("(clamp_min(%s and %s, -Inf) or clamp_min(last_over_time(%s[%s]) unless %s, Inf))", value, fresh, selector,
		seconds(4*g.query.interval), fresh)
	e, err := grammar.ParseExpr(text)
	if err != nil {
		g.refuse("cannot be guarded: %w", err)
		return &parser.StringLiteral{}
	}
	return e
}
