package page

import (
	_ "embed"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
)

//go:embed page.js
var script string

// Script returns the module of the pages.
func Script() string { return script }

// View is an entry of the navigation.
type View struct{ Path, Name string }

var views = []View{{"/", "Week"}, {"/policies", "Policies"}, {"/freezes", "Freezes"}, {"/savings", "Savings"}, {"/health", "Health"},
	{"/preview", "Preview"}}

// Views returns the views of the server.
func (v *view) Views() []View { return views }

// Target returns the address of a target. The namespace of a cluster-scoped one is -.
func (v *view) Target(ref workload.Ref) string {
	namespace := ref.Namespace
	if namespace == "" {
		namespace = "-"
	}
	return v.Query.link("/target/"+url.PathEscape(ref.GroupKind.String())+"/"+url.PathEscape(namespace)+"/"+url.PathEscape(ref.Name), "group",
		"", "q", "")
}

// Zones returns the zones that policies name, in order.
func Zones(w *source.World) (all []string) {
	for _, p := range w.Policies {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
		if err != nil {
			continue
		}
		spec, _ := raw["spec"].(map[string]any)
		if name, _ := spec["timeZone"].(string); name != "" && !slices.Contains(all, name) {
			if _, err := instant.Zone(name); err == nil {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// names are the templates of the views.
var names = map[string]string{"/": "week", "/policies": "policies", "/freezes": "frozen", "/savings": "saved", "/health": "health"}

// View writes a view of the report.
func (r *Report) View(out io.Writer, path string, q Query, zones []string) error {
	v := &view{Title: "Flyball: " + r.Scope, Zone: r.zone, Nav: path, Query: q, Zones: zones}
	filtered := *r // a report may be shown again
	filtered.Week = r.Week.Filter(q["q"])
	v.Body = body{Report: &filtered, v: v, open: q["group"]}
	return execute(out, names[path], v)
}

// Choice is a value of a choice.
type Choice struct {
	Value, Text string
	Chosen      bool
}

// ZoneChoices returns the zones to choose from: that of the command, those of policies, and UTC.
func (v *view) ZoneChoices() []Choice {
	all := []Choice{{"", "as the command has it", v.Query["zone"] == ""}}
	for _, name := range append(slices.Clone(v.Zones), "UTC", v.Query["zone"]) {
		if name != "" && !slices.ContainsFunc(all, func(c Choice) bool { return c.Value == name }) {
			all = append(all, Choice{name, name, v.Query["zone"] == name})
		}
	}
	return all
}

// SpanChoices returns the lengths of time to choose from.
func (v *view) SpanChoices() (all []Choice) {
	for _, c := range []Choice{{"day", "day", false}, {"", "week", false}, {"month", "month", false}} {
		c.Chosen = v.Query["span"] == c.Value
		all = append(all, c)
	}
	return all
}

// Day formats the day of an instant for a choice.
func (v *view) Day(t time.Time) string { return t.In(v.Zone).Format(time.DateOnly) }

// Local formats the instants in the text of a policy, which are in UTC.
func (v *view) Local(text string) string { return explain.Local(text, v.Zone) }

// Target writes the page of a target.
func Target(out io.Writer, e *explain.Explanation, zone *time.Location, q Query) error {
	return execute(out, "target", &view{Title: "Flyball: " + e.Target, Zone: zone, Nav: "/", Query: q, Body: e})
}

// change is the body of the preview.
type change struct {
	Text  string
	Plan  *plan.Plan
	Lines []plan.Line
	// More is the number of lines beyond the page.
	More int
}

// maxLines is the number of lines of a preview.
const maxLines = 300

// Preview writes the page of a difference. The plan is nil before a policy is given.
func Preview(out io.Writer, text string, p *plan.Plan, zone *time.Location, q Query) error {
	c := change{Text: text, Plan: p}
	if p != nil {
		c.Lines = p.Lines(false)
		c.More = max(0, len(c.Lines)-maxLines)
		c.Lines = c.Lines[:len(c.Lines)-c.More]
	}
	return execute(out, "preview", &view{Title: "Flyball: preview", Zone: zone, Nav: "/preview", Query: q, Body: c})
}

// Than returns the difference of the saved replica hours.
func (c change) Than() string {
	return fmt.Sprintf("%+.1f", c.Plan.Totals.ReplicaHoursSaved-c.Plan.Before.ReplicaHoursSaved)
}

// Fault writes a page with an error.
func Fault(out io.Writer, text string) error {
	return execute(out, "fault", &view{Title: "Flyball: nothing to show", Zone: time.UTC, Query: Query{}, Body: strings.Split(text, "\n")})
}
