package page

import (
	"cmp"
	_ "embed"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
)

//go:embed page.js
var script string

// Script returns the JavaScript module of the pages.
func Script() string { return script }

// View is an entry of the navigation.
type View struct{ Path, Name string }

var views = []View{{"/", "Week"}, {"/policies", "Policies"}, {"/freezes", "Freezes"}, {"/savings", "Savings"}, {"/tuning", "Tuning"},
	{"/health", "Health"}, {"/preview", "Preview"}}

// Views returns the views of the server. The first has the name of its length of time.
func (v *view) Views() []View {
	all := slices.Clone(views)
	all[0].Name = v.Span()
	return all
}

// title returns the title of a view of the report.
func (v *view) title(scope string) string {
	for _, entry := range v.Views() {
		if entry.Path == v.Nav {
			return "Flyball: " + entry.Name + ", " + scope
		}
	}
	return "Flyball: " + scope
}

// Target returns the address of the page of a target. A cluster-scoped target has - in place of the namespace.
func (v *view) Target(ref workload.Ref) string {
	namespace := ref.Namespace
	if namespace == "" {
		namespace = "-"
	}
	return v.Query.link("/target/"+url.PathEscape(ref.GroupKind.String())+"/"+url.PathEscape(namespace)+"/"+url.PathEscape(ref.Name), "group",
		"", "q", "")
}

// Policy returns the address of the page of a policy. A cluster-scoped policy has - in place of the namespace.
func (v *view) Policy(kind, namespace, name string) string {
	path := "/policy/" + url.PathEscape(kind) + "/" + url.PathEscape(cmp.Or(namespace, "-")) + "/" + url.PathEscape(name)
	return v.Query.link(path, "group", "", "q", "")
}

// Zones returns the time zones that policies name, in order.
func Zones(w *source.World) (all []string) {
	for _, p := range w.Policies {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
		if err != nil {
			continue
		}
		spec, _ := raw["spec"].(map[string]any)
		if name, _ := spec["timeZone"].(string); name != "" && !slices.Contains(all, name) {
			if _, err := printer.ParseZone(name); err == nil {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// names maps the paths of views to the names of their templates.
var names = map[string]string{"/": "week", "/policies": "policies", "/freezes": "frozen", "/savings": "saved", "/health": "health"}

// Kept returns the URL parameters that the form about freezes keeps.
func (v *view) Kept() map[string]string {
	all := map[string]string{}
	for _, name := range []string{"zone", "from", "span", "ahead"} {
		if v.Query[name] != "" {
			all[name] = v.Query[name]
		}
	}
	return all
}

// Aheads are the days that the page of freezes looks ahead, by the values of its choice. The first is the default.
var Aheads = map[string]int{"": 90, "180": 180, "365": 365, "730": 730}

// AheadChoices returns the times that the page of freezes can look ahead.
func (v *view) AheadChoices() (all []Choice) {
	for _, c := range []Choice{{"", "90 days", false}, {"180", "half a year", false}, {"365", "a year", false}, {"730", "two years", false}} {
		c.Chosen = v.Query["ahead"] == c.Value
		all = append(all, c)
	}
	return all
}

// Actions returns the kinds of changes that the form about freezes offers.
func (v *view) Actions() (all []Choice) {
	for _, name := range []string{"rollout", "scale", "create", "delete"} {
		all = append(all, Choice{name, name, v.Query["may"] == name})
	}
	return all
}

// Within returns the namespace in the form about freezes. It is the namespace of the address or, if there is none, the
// given namespace.
func (v *view) Within(namespace string) string { return cmp.Or(v.Query["in"], namespace) }

// View writes the view of the report that the frame selects. The verdict is nil if nothing was asked.
func (r *Report) View(out io.Writer, f Frame, zones []string, verdict *Verdict) error {
	return execute(out, names[f.Nav], r.view(f, zones, verdict))
}

func (r *Report) view(f Frame, zones []string, verdict *Verdict) *view {
	v := f.view("", nil)
	v.Zone, v.Zones, v.Title = r.zone, zones, v.title(r.Scope)
	filtered := *r // a copy, because the same report may be shown again
	if f.Nav == "/" {
		filtered.Week = r.Week.Filter(f.Query["q"])
	}
	v.Body = body{Report: &filtered, v: v, open: f.Query["group"], Verdict: verdict}
	return v
}

// Early writes the first part of the page of the week, with the present state of each group. A browser shows this part
// until Rest or FaultRest writes the rest.
func Early(out io.Writer, now *Week, f Frame) error {
	v := f.view("", nil)
	v.Title = v.title(scope(f.Place.Namespace))
	v.Body = newChart(v, now.Filter(f.Query["q"]), now.Now)
	return execute(out, "early", v)
}

// Progress writes a line of the page of the week between Early and Rest: the instant that the simulation has reached.
func Progress(out io.Writer, at time.Time, f Frame) error {
	return execute(out, "progress", f.view("", at))
}

// Rest writes the part of the page of the week that follows Early.
func (r *Report) Rest(out io.Writer, f Frame, zones []string) error {
	return execute(out, "rest", r.view(f, zones, nil))
}

// Choice is an option of a list in a form.
type Choice struct {
	Value, Text string
	Chosen      bool
}

// ZoneChoices returns the time zones to choose from: the time zone of the command, the time zones of policies, and UTC.
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

// Span returns the length of time of the picture as a heading: Day, Week or Month.
func (v *view) Span() string {
	if span := v.Query["span"]; span == "day" || span == "month" {
		return strings.ToUpper(span[:1]) + span[1:]
	}
	return "Week"
}

// Day formats the day of an instant as the value of a choice.
func (v *view) Day(t time.Time) string { return t.In(v.Zone).Format(time.DateOnly) }

// Local returns the text of a policy with its instants converted from UTC to the zone of the page.
func (v *view) Local(text string) string { return explain.Local(text, v.Zone) }

// Frame has the parts that every page about an object has.
type Frame struct {
	// Nav is the selected entry of the navigation. Page is the address of the page.
	Nav, Page string
	Zone      *time.Location
	Query     Query
	// Token is a hidden field of each form that is sent by POST.
	Token string
	Place Place
}

func (f Frame) view(title string, body any) *view {
	return &view{Title: "Flyball: " + title, Zone: f.Zone, Nav: f.Nav, Page: f.Page, Query: f.Query, Token: f.Token, Place: &f.Place,
		Body: body}
}

// subject is the content of a page about one object.
type subject[Story any] struct {
	Story  Story
	Offers *Offers
}

// targetBody is the content of the page of a target.
type targetBody struct {
	subject[*explain.Explanation]
	// Chart is the picture of the target's own week, and Bars are its bars. Bars is empty if no policy selects the target.
	Chart *chart
	Bars  []Bar
}

// Target writes the page of a target, with its row of the week.
func Target(out io.Writer, ref workload.Ref, e *explain.Explanation, days *Week, offers *Offers, f Frame) error {
	v := f.view(e.Target, nil)
	t := targetBody{subject: subject[*explain.Explanation]{e, offers}, Chart: newChart(v, days, days.Now)}
	if row := days.Row(ref); row != nil {
		t.Bars = row.Bars
	}
	v.Body = t
	return execute(out, "target", v)
}

// Headline returns the state of the target and its end, in at most ten words.
func (t targetBody) Headline() string {
	now := at(t.Bars, t.Chart.at)
	switch state := t.Story.State; {
	case now == nil:
		return "No policy changes it"
	case state == "already_asleep":
		return "Already at rest, and left alone"
	case state == "overridden":
		return "Changed by another writer until the next transition"
	case state == "unable":
		return "Left running: it cannot sleep"
	case state == "falling_asleep":
		return "Falling asleep" + t.until(now)
	case state == "pending":
		return "About to be " + string(now.State) + t.until(now)
	}
	return strings.ToUpper(string(now.State[:1])) + string(now.State[1:]) + t.until(now)
}

// until returns the end of the state of a bar as text, or "" if the state lasts.
func (t targetBody) until(b *Bar) string {
	for next := b; next != nil; next = at(t.Bars, next.To) {
		if next.State != b.State {
			return " until " + short(next.From, t.Chart.at, t.Chart.v.Zone)
		}
	}
	return ""
}

// ByID returns the address of the page of a policy, given by its ID.
func (v *view) ByID(id string) string {
	p := workload.ParsePolicy(id)
	return v.Policy(p.Kind, p.Namespace, p.Name)
}

// Policy writes the page of a policy.
func Policy(out io.Writer, s *explain.PolicyStory, offers *Offers, f Frame) error {
	return execute(out, "policy", f.view(s.Policy, subject[*explain.PolicyStory]{s, offers}))
}

// Lower returns a text in lower case.
func (v *view) Lower(text string) string { return strings.ToLower(text) }

// acted is the content of the page about an action.
type acted struct {
	*Action
	DryRun bool
	// Text is the effect as the verb prints it. Back is the address of the page with the form.
	Text, Back string
}

// Act writes the page of an action. After a dry run the page asks for a confirmation. Otherwise it says that the action
// is done. The parameter back is the address of the page with the form.
func Act(out io.Writer, a *Action, dryRun bool, back string, f Frame) error {
	var text strings.Builder
	if err := printer.Print(&text, a.Effect, printer.Table, false); err != nil {
		return err
	}
	if !strings.HasPrefix(back, "/target/") && !strings.HasPrefix(back, "/policy/") {
		back = "/"
	}
	title := "done"
	if dryRun {
		title = "confirm"
	}
	return execute(out, "act", f.view(title, acted{a, dryRun, text.String(), back}))
}

// change is the content of the preview.
type change struct {
	Text string
	// Problem has the lines of the error of the text; none: it was read, or there is none.
	Problem []string
	Plan    *plan.Plan
	Lines   []plan.Line
	// More is the number of lines outside the page.
	More int
}

// maxPairs is the largest number of targets in the picture of a preview.
const maxPairs = 40

// Picture returns the picture of the targets that run differently, or nil if none does.
func (c change) Picture(v *view) *chart {
	k := Difference(c.Plan, v.Zone)
	if len(k.Groups) == 0 {
		return nil
	}
	k.Groups = k.Groups[:len(k.Groups)-c.Hidden()]
	return newChart(v, k, k.Now)
}

// Hidden returns the number of targets that run differently outside the picture.
func (c change) Hidden() int { return max(0, len(c.Plan.Timelines)-maxPairs) }

// maxLines is the largest number of lines in a preview.
const maxLines = 300

// Preview writes the page that shows the difference made by a policy. The plan is nil as long as no policy is given, or if there is a
// problem with it.
func Preview(out io.Writer, text string, p *plan.Plan, problem error, f Frame) error {
	c := change{Text: text, Plan: p}
	if problem != nil {
		c.Plan, c.Problem = nil, strings.Split(problem.Error(), "\n")
	}
	p = c.Plan
	if p != nil {
		c.Lines = p.Lines(false)
		c.More = max(0, len(c.Lines)-maxLines)
		c.Lines = c.Lines[:len(c.Lines)-c.More]
	}
	return execute(out, "preview", f.view("preview", c))
}

// Effect says how many more or fewer replica hours the change saves.
func (c change) Effect() string {
	switch more := c.Plan.Totals.ReplicaHoursSaved - c.Plan.Before.ReplicaHoursSaved; {
	case more > 0:
		return amount(more) + " more replica hours saved"
	case more < 0:
		return amount(-more) + " fewer replica hours saved"
	}
	return "As many replica hours saved as now"
}

// fault is the content of a page with an error. Still is true if the page does not follow changes of the world.
type fault struct {
	Lines []string
	Still bool
}

// Fault writes a page with an error. The error of a form stays on the page (still), because a refresh would show an empty form.
func Fault(out io.Writer, text string, still bool) error {
	return execute(out, "fault", faulty(text, still))
}

// FaultRest writes an error in place of the part that follows Early.
func FaultRest(out io.Writer, text string) error {
	return execute(out, "faultrest", faulty(text, false))
}

func faulty(text string, still bool) *view {
	return &view{Title: "Flyball: nothing to show", Zone: time.UTC, Query: Query{}, Body: fault{strings.Split(text, "\n"), still}}
}
