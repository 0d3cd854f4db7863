package page_test

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/status"
)

const root = "../../../.."

// demo returns the world of the demo.
func demo(t *testing.T) *source.World {
	t.Helper()
	w, err := source.Files{Paths: []string{root + "/test/demo/manifests", root + "/samples/calendars"}, Namespace: "shop",
		FlyballNamespace: source.DefaultNamespace}.Load()
	if err != nil {
		t.Fatal(err)
	}
	w.Adapters = slices.DeleteFunc(w.Adapters, func(a *v1alpha1.Adapter) bool { // to compile those without an object takes most of the time
		return !slices.ContainsFunc(w.Objects, func(raw []byte) bool { return rawjson.GetBytes(raw, "kind").Str == a.Spec.Target.Kind })
	})
	return w
}

func demoReport(t *testing.T) *page.Report {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2037, 5, 11, 0, 0, 0, 0, berlin)
	r, err := page.Of(t.Context(), demo(t), page.Input{Now: from.Add(10 * time.Hour), From: from, To: from.AddDate(0, 0, 7),
		FreezesTo: from.AddDate(0, 0, 90), Zone: berlin})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rendered returns the HTML of a report, and its elements.
func rendered(t *testing.T, r *page.Report) (string, []*html.Node) {
	t.Helper()
	var out bytes.Buffer
	if err := r.HTML(&out); err != nil {
		t.Fatal(err)
	}
	return out.String(), elements(t, out.String())
}

func elements(t *testing.T, text string) (all []*html.Node) {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range tree.Descendants() {
		if n.Type == html.ElementNode {
			all = append(all, n)
		}
	}
	return all
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// TestReportIsSelfContained checks that the file needs no script and no external address, not even for styles,
// pictures
// or fonts.
func TestReportIsSelfContained(t *testing.T) {
	text, all := rendered(t, demoReport(t))
	for _, n := range all {
		if slices.Contains([]string{"script", "link", "iframe", "img", "object", "embed", "form", "base"}, n.Data) {
			t.Errorf("there is an element %s", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
			}
		}
	}
	if found := regexp.MustCompile(`https?://|@import|url\([^#]`).FindString(text); found != "" {
		t.Errorf("the file has %q", found)
	}
	if !strings.Contains(text, "default-src &#39;none&#39;; style-src &#39;sha256-") {
		t.Error("the file has no content security policy")
	}
}

// TestEachBarOfThePictureHasText checks that each bar of the picture has a line of text, and that the page has the
// pattern of each
// state.
func TestEachBarOfThePictureHasText(t *testing.T) {
	r := demoReport(t)
	text, all := rendered(t, r)
	patterns, lines := map[string]bool{}, map[string]int{}
	for _, n := range all {
		switch {
		case n.Data == "pattern":
			patterns["url(#"+attribute(n, "id")+")"] = true
		case n.Data == "svg" && attribute(n, "role") == "img" && attribute(n, "aria-label") == "":
			t.Error("a picture has no label")
		case n.Data == "th" && attribute(n, "scope") == "row":
			rows, _ := strconv.Atoi(attribute(n, "rowspan"))
			for name := range strings.SplitSeq(n.FirstChild.Data, ", ") {
				lines[name] += rows
			}
		}
	}
	for _, n := range all {
		if fill := attribute(n, "fill"); fill != "" && fill != "none" && !patterns[fill] {
			t.Errorf("there is no pattern %s", fill)
		}
	}
	rows := 0
	for _, g := range r.Week.Groups {
		for _, row := range g.Rows {
			rows++
			if got := lines[row.Target]; got < len(row.Bars) {
				t.Errorf("%s has %d bars and %d lines of text", row.Target, len(row.Bars), got)
			}
		}
	}
	if rows < 10 || len(patterns) < 8 {
		t.Errorf("%d rows and %d patterns", rows, len(patterns))
	}
	for _, want := range []string{"ChangeFreeze/shop/holiday", "no changes around the holiday", "CVE fix",
		"@media screen and (prefers-color-scheme: dark)", "@media print"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

// TestSavingsHaveTheirWorth checks that rates add their columns to the page and to the table. Without rates there are
// no such columns.
func TestSavingsHaveTheirWorth(t *testing.T) {
	from := time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)
	for _, rates := range []string{"", "cpu=9177,currency=EUR"} {
		r, err := status.ParseRates(rates, rates[:min(len(rates), 8)])
		if err != nil {
			t.Fatal(err)
		}
		end := from.AddDate(0, 0, 7)
		found, err := page.Of(t.Context(), demo(t), page.Input{Now: from, From: from, To: end, FreezesTo: end, Zone: time.UTC, Rates: r})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := rendered(t, found)
		var table bytes.Buffer
		if err := printer.Print(&table, found, printer.Table, false); err != nil {
			t.Fatal(err)
		}
		if found.Week.Totals.CPUHoursSaved == 0 {
			t.Fatal("the demo saves nothing")
		}
		cost, grams := fmt.Sprintf("%.2f", 9177*found.Week.Totals.CPUHoursSaved), fmt.Sprintf("%.0f", 9177*found.Week.Totals.CPUHoursSaved)
		whole := grams[:len(grams)-3] + "," + grams[len(grams)-3:]
		for _, want := range []string{`class="n">Cost EUR</th>`, `data-head="Cost EUR">` + whole + "</td>", `data-head="CO2 g">` + whole +
			"</td>", "<b>" + whole + "</b> EUR saved"} {
			if has := strings.Contains(text, want); has != (rates != "") {
				t.Errorf("rates %q: the page has %q: %t", rates, want, has)
			}
		}
		for _, want := range []string{"COST EUR", "CO2 G", cost, grams} {
			if has := strings.Contains(table.String(), want); has != (rates != "") {
				t.Errorf("rates %q: the table has %q: %t", rates, want, has)
			}
		}
	}
}

// hostile is a text that tries to end the element, the attribute, the address or the style around it, and to change the
// direction of the text.
var hostile = "\"'></title></td></svg></style><script>alert(1)</script><img src=x " +
	"onerror=alert(1)>javascript:alert(1){{.}}\u202e\x1b[2J&lt;/*\x00"

// poison replaces every text in a value, except the names of states and effects, by the hostile text.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Location]() {
			poison(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(hostile)
		}
	}
}

// TestHostileTexts checks that no text of a cluster becomes an element, an attribute, a style or a script on the
// page.
func TestHostileTexts(t *testing.T) {
	r := demoReport(t)
	_, before := rendered(t, r)
	poison(reflect.ValueOf(r).Elem())
	text, after := rendered(t, r)
	names := func(all []*html.Node) map[string]bool {
		set := map[string]bool{}
		for _, n := range all {
			set[n.Data] = true
			for _, a := range n.Attr {
				set[n.Data+" "+a.Key] = true
			}
		}
		return set
	}
	known := names(before)
	for name := range names(after) {
		if !known[name] {
			t.Errorf("a text made %s", name)
		}
	}
	if strings.ContainsAny(text, "\u202e\x1b\x00") {
		t.Error("a text can hide or turn others")
	}
	if told := strings.Count(text, "&lt;script&gt;alert(1)"); told < 50 {
		t.Errorf("only %d hostile texts are on the page", told)
	}
}
