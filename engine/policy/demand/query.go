package demand

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"flyball.dev/flyball/engine/timeline"
)

// SelectorLabel is the label of the series that prove a selector of the demand to have fresh samples. Its value is the
// index of the selector.
const SelectorLabel = "flyball_selector"

// Query is a demand in the form in which Prometheus is asked. A series counts if it has a sample of the last two intervals, and had one
// four intervals earlier or is used. For four intervals after it vanished or came, another series is +Inf, and so no finite number is
// left of a demand with a lost part.
type Query struct {
	// Now is the query of an instant.
	Now string
	// Selectors are the selectors of the demand, by index.
	Selectors []string
	rule      *Rule
	// hasNames is true if the series may have names. Then a series without one has lost it, and proves no target to be quiet.
	hasNames bool
	// sides is the number of right sides of or.
	sides int
}

var grammar = parser.NewParser(parser.Options{})

// Query returns the query of the demand. tenantLabel restricts each selector of a namespaced demand to series with its namespace; empty:
// it does not. The error is about the demand.
func (r *Rule) Query(tenantLabel string) (*Query, error) {
	expr, err := grammar.ParseExpr(r.Text)
	if err != nil {
		return nil, err
	}
	if expr.Type() != parser.ValueTypeVector {
		return nil, fmt.Errorf("must have a series for each target, and is a %s", parser.DocumentedType(expr.Type()))
	}
	if r.Namespace == "" && !keeps(expr, r.NamespaceLabel) && !keeps(expr, r.NameLabel) {
		return nil, fmt.Errorf("names no target: no series has the label %s or %s", r.NamespaceLabel, r.NameLabel)
	}
	g := rewriter{Query: &Query{rule: r, hasNames: keeps(expr, r.NameLabel)}, tenantLabel: tenantLabel}
	guarded, _ := g.rewrite(expr)
	if len(g.errs) > 0 {
		return nil, errors.Join(g.errs...)
	}
	g.Now = "(" + guarded.String() + ")"
	for i, selector := range g.Selectors {
		g.Now += fmt.Sprintf(` or label_replace(count(%s), %q, "%d", "", "")`, g.fresh(selector), SelectorLabel, i)
	}
	_, err = grammar.ParseExpr(g.Now)
	return g.Query, err
}

// ErrUnbound is the error of a namespaced demand without a label that keeps it inside its namespace.
var ErrUnbound = errors.New(
	"spec.idle of a namespaced Schedule needs a label that keeps its query inside its namespace (--prometheus-tenant-label)")

// Ask returns the query as Query does, but none of a namespaced demand that is not restricted. The error is ErrUnbound,
// or an error of Query.
func (r *Rule) Ask(tenantLabel string) (*Query, error) {
	if r.Namespace != "" && tenantLabel == "" {
		return nil, ErrUnbound
	}
	return r.Query(tenantLabel)
}

// keeps reports whether the series of an expression may have a label.
func keeps(e parser.Node, label string) (may bool) {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return true
	case *parser.AggregateExpr:
		return slices.Contains(e.Grouping, label) != e.Without && keeps(e.Expr, label)
	case *parser.Call:
		if len(e.Args) > 1 {
			if to, ok := e.Args[1].(*parser.StringLiteral); ok && to.Val == label { // label_replace or label_join
				return true
			}
		}
	}
	for inner := range parser.ChildrenIter(e) {
		may = may || keeps(inner, label)
	}
	return may
}

// Past returns the query of the largest demand during each step of a range. A series without a number at each instant of a step has the
// value +Inf there: that of the other instants, and the lost part, may be use.
func (q *Query) Past(step time.Duration) string {
	all := fmt.Sprintf("((%s) > -Inf)[%s:%s]", q.Now, span(step), span(q.rule.Interval))
	whole := fmt.Sprintf("max_over_time(%s) and (count_over_time(%s) >= %d)", all, all, step/q.rule.Interval)
	return fmt.Sprintf("(%s) or clamp_min(max_over_time(%s), Inf)", whole, all)
}

// fresh returns a query of the instants of the fresh samples of a selector.
func (q *Query) fresh(selector string) string {
	return fmt.Sprintf("(timestamp(%s) > time() - %s)", selector, number(q.rule.Fresh().Seconds()))
}

func span(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// rewriter rewrites a demand into the form of Query. It accepts the forms in which a selector of +Inf stays visible, and no others.
type rewriter struct {
	*Query
	tenantLabel string
	// aggregations is the number of aggregations around the guarded expression.
	aggregations int
	errs         []error
}

func (g *rewriter) refuse(format string, args ...any) {
	g.errs = append(g.errs, fmt.Errorf(format, args...))
}

const notNow = "must not have %s: a demand is that of the present"

// hides refuses a form in which lost samples can look like no use.
func (g *rewriter) hides(form string) {
	g.refuse("must not have %s, which can hide lost samples", form)
}

// rewrite returns an expression with guarded selectors. It may change the given expression. below is true if a lost part can make the
// result -Inf or NaN, which a maximum hides.
func (g *rewriter) rewrite(e parser.Expr) (guarded parser.Expr, below bool) {
	switch e := e.(type) {
	case *parser.NumberLiteral, *parser.StringLiteral:
	case *parser.ParenExpr:
		e.Expr, below = g.rewrite(e.Expr)
	case *parser.UnaryExpr:
		e.Expr, _ = g.rewrite(e.Expr)
		below = true
	case *parser.AggregateExpr:
		g.aggregations++
		e.Expr, below = g.rewrite(e.Expr)
		g.aggregations--
		if e.Op != parser.SUM && e.Op != parser.AVG && (e.Op != parser.MAX || below) {
			g.hides(fmt.Sprintf("this %s", e.Op))
		}
	case *parser.BinaryExpr:
		below = g.binary(e)
	case *parser.Call:
		return g.call(e)
	case *parser.VectorSelector:
		g.refuse("%s must have a range, as in max_over_time(%s[2m]), or demand between two queries is missed", e, e)
	default:
		g.refuse(notNow, e)
	}
	return e, below
}

// binary guards both sides of an operator.
func (g *rewriter) binary(e *parser.BinaryExpr) (below bool) {
	left, right := positive(e.LHS), positive(e.RHS)
	var l, r bool
	e.LHS, l = g.rewrite(e.LHS)
	e.RHS, r = g.rewrite(e.RHS)
	switch {
	case e.Op == parser.LOR:
		g.unite(e)
		return l || r
	case g.aggregations > 0 && e.VectorMatching != nil:
		g.hides(fmt.Sprintf("this %s between series inside an aggregation", e.Op)) // which drops a part with one side alone
	case g.rule.AbsentIdle && e.VectorMatching != nil && (!e.VectorMatching.On || len(e.VectorMatching.MatchingLabels) > 0):
		g.refuse("must not have this %s between series beside spec.idle.absent: Idle, because a target with one side alone has none", e.Op)
	case e.Op == parser.ADD:
		return l || r
	case e.Op == parser.SUB:
		return true
	case e.Op == parser.MUL && (left || right), e.Op == parser.DIV && right:
		return l || r
	case e.Op == parser.MUL && e.LHS.Type() == e.RHS.Type():
		return true
	case e.Op.IsComparisonOperator():
		g.refuse("must not compare by %s: spec.idle.above is the limit", e.Op)
	default:
		g.hides(fmt.Sprintf("this %s", e.Op))
	}
	return false
}

// sideLabel is the label of the series from the right side of an or. Its value is the index of this side. Otherwise a quiet series on the
// left side would hide use on the right one.
const sideLabel = "flyball_side"

// unite lets the series of both sides of an or stand.
func (g *rewriter) unite(e *parser.BinaryExpr) {
	if e.VectorMatching.On || len(e.VectorMatching.MatchingLabels) > 0 {
		g.hides("or with on or ignoring")
		return
	}
	g.sides++
	text := fmt.Sprintf(`label_replace(%s, %q, "%d", "", "")`, e.RHS, sideLabel, g.sides)
	marked, err := grammar.ParseExpr(text)
	if err != nil {
		g.refuse("cannot be guarded: %w", err)
		return
	}
	e.RHS = marked
}

// positive reports whether an expression is a positive finite number.
func positive(e parser.Expr) bool {
	if p, ok := e.(*parser.ParenExpr); ok {
		return positive(p.Expr)
	}
	n, ok := e.(*parser.NumberLiteral)
	return ok && n.Val > 0 && !math.IsInf(n.Val, 1)
}

// overRange are the functions of a range in which each increase or each sample counts. ofInstant are those of an instant that keep +Inf.
var (
	overRange = []string{"rate", "increase", "changes", "max_over_time", "avg_over_time", "sum_over_time"}
	ofInstant = []string{"ceil", "floor", "round", "ln", "clamp_min", "label_replace", "label_join"}
)

func (g *rewriter) call(c *parser.Call) (guarded parser.Expr, below bool) {
	if slices.Contains(overRange, c.Func.Name) {
		return g.whole(c)
	}
	if !slices.Contains(ofInstant, c.Func.Name) {
		g.hides(c.Func.Name)
		return c, false
	}
	g.labels(c)
	c.Args[0], below = g.rewrite(c.Args[0])
	if below && c.Func.Name == "clamp_min" {
		g.hides("this clamp_min")
	}
	for _, arg := range c.Args[1:] {
		g.rewrite(arg)
	}
	return c, below || c.Func.Name == "ln"
}

// mostParts is the largest number of parts from which a label is made.
const mostParts = 4

// labels refuses a label function that writes a label of the query itself, or that can make a label of any length from short ones: each
// function would double it.
func (g *rewriter) labels(c *parser.Call) {
	if c.Func.Name != "label_replace" && c.Func.Name != "label_join" {
		return
	}
	if to := literal(c.Args[1]); strings.HasPrefix(to, "flyball_") {
		g.refuse("must not write the label %s, which is Flyball's own", to)
	}
	from := c.Args[3:]
	parts := len(from)
	if c.Func.Name == "label_replace" {
		from, parts = c.Args[3:4], strings.Count(literal(c.Args[2]), "$")
	}
	if parts > mostParts {
		g.refuse("must not make a label of more than %d others by %s", mostParts, c.Func.Name)
	}
	written := map[string]bool{}
	parser.Inspect(c.Args[0], func(node parser.Node, _ []parser.Node) error {
		if inner, ok := node.(*parser.Call); ok && (inner.Func.Name == "label_replace" || inner.Func.Name == "label_join") {
			written[literal(inner.Args[1])] = true
		}
		return nil
	})
	for _, label := range from {
		if written[literal(label)] {
			g.refuse("must not read the label %s by %s, because another function writes it", literal(label), c.Func.Name)
		}
	}
}

func literal(e parser.Expr) string {
	if p, ok := e.(*parser.ParenExpr); ok {
		return literal(p.Expr)
	}
	s, _ := e.(*parser.StringLiteral)
	if s == nil {
		return ""
	}
	return s.Val
}

// whole restricts and records the selector of a range, and returns its value while the series is known, and +Inf while it is not. Neither
// has a name, because a step of the history can have both.
func (g *rewriter) whole(c *parser.Call) (guarded parser.Expr, below bool) {
	m, ok := c.Args[0].(*parser.MatrixSelector)
	if !ok {
		return g.rewrite(c.Args[0])
	}
	v, i := m.VectorSelector.(*parser.VectorSelector), g.rule.Interval
	switch {
	case v.OriginalOffset != 0 || v.Timestamp != nil || v.StartOrEnd != 0:
		g.refuse(notNow, m)
		return c, false
	case m.Range < 4*i:
		g.refuse("%s must reach back at least four intervals, %s, because answers can be lost", m, timeline.DurationText(4*i))
		return c, false
	}
	if g.rule.Namespace != "" && g.tenantLabel != "" {
		v.LabelMatchers = append(v.LabelMatchers, labels.MustNewMatcher(labels.MatchEqual, g.tenantLabel, g.rule.Namespace))
	}
	selector := v.String()
	if !slices.Contains(g.Selectors, selector) {
		g.Selectors = append(g.Selectors, selector)
	}
	fresh := g.fresh(selector)
	known := fmt.Sprintf("((%[1]s > -Inf and %[2]s and (timestamp(%[3]s offset %[4]s) > time() - %[5]s)) or (%[1]s > %[6]s and %[2]s))",
		c, fresh, selector, span(4*i), number(6*i.Seconds()), number(g.rule.Above))
	text := fmt.Sprintf("(clamp_min(%[1]s, -Inf) or clamp_min(count_over_time(%[2]s[%[3]s]) unless %[1]s, Inf))", known, selector, span(4*i))
	e, err := grammar.ParseExpr(text)
	if err != nil {
		g.refuse("cannot be guarded: %w", err)
		return c, false
	}
	return e, false
}
