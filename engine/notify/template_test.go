package notify

import (
	"strings"
	"testing"
	"text/template"

	"flyball.dev/flyball/crds/v1alpha1"
)

// TestTemplatesRenderTheTextsOfGoTemplates renders templates with text/template too, and expects the same texts and refusals.
func TestTemplatesRenderTheTextsOfGoTemplates(t *testing.T) {
	data := []Data{
		{Event: "Failed", Policy: "Schedule/shop/nights", Kind: "Schedule", Namespace: "shop", Name: "nights", At: "2026-03-02T13:30:00Z",
			Text: `a "text" <b>`, Details: []string{"x", "", "y"}, Count: 3},
		{Event: "TransitionAhead", Policy: "ClusterSchedule/all", Kind: "ClusterSchedule", Name: "all", In: "15m", Command: "wake", Count: 1,
			Details: []string{"z"}},
		{},
	}
	for _, text := range []string{
		"plain", "{{.Text}}", "{{- .Kind -}} ", "a {{- /* comment */ -}} b", "{{.Count}} {{.Details}}", "{{.}}", "{{json .}}",
		"{{json .Details}}",
		"{{.Text | json}}", "{{.Text | json | json}}", `{{"a" | eq "a"}}`, `{{"quoted\t"}}`, "{{`raw`}}",
		"{{true}} {{false}}", "{{1}} {{1.5}} {{1.0}} {{'a'}}",
		"{{0x1f}} {{-3}}", "{{if .Command}}c{{else}}d{{end}}", `{{if eq .Kind "Schedule"}}s{{else if .In}}in{{else}}none{{end}}`,
		"{{range .Details}}[{{.}}]{{else}}nothing{{end}}", `{{range .Details}}{{if .}}{{json .}}{{end}}{{if eq . "x"}}!{{end}}{{end}}`,
		"{{if gt .Count 1}}{{.Count}} times{{end}}", "{{lt .Count 2}}", "{{lt .Kind .Name}}",
		`{{eq .Kind "a" "Schedule"}}`, `{{ne .Kind "Schedule"}}`,
		"{{and .In .Command}}", "{{or .Namespace .Name}}", "{{and .Count .Details .Text}}", "{{not .Details}}", "{{len .Details}} {{len .Text}}",
		"{{if and (gt .Count 1) (or .In (not .Command))}}both{{end}}", "{{or .Kind (len .Count)}}",
		"{{and .In (len .Count)}}", "{{eq true (not .In)}}",
		"{{eq .Count 1.5}}", `{{eq .Count "1"}}`, "{{eq .Details .Details}}", "{{lt true false}}", "{{len .Count}}", "{{len .}}", "{{eq .Count}}",
		"{{ne .Count 1 2}}", "{{json}}", "{{json .Text .Kind}}", "{{.Text .Kind}}", "{{.Text | .Kind}}", "{{.Text.Kind}}", "{{.Nothing}}",
		"{{range .Details}}{{.Text}}{{end}}", "{{not}}", "{{and}}", "{{eq . .}}", `{{"a" "b"}}`,
		"{{if .}}whole{{end}}", "{{len .Details | eq 3}}",
	} {
		own, errs := Compile(notification(func(n *v1alpha1.Notification) { n.Spec.Template = text }))
		whole, err := template.New("template").Funcs(template.FuncMap{"json": jsonText}).Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		for _, d := range data {
			var want strings.Builder
			err := whole.Execute(&want, d)
			if len(errs) > 0 {
				if err == nil && !isRefusedByExample(whole) {
					t.Errorf("%s: %v, want %s", text, errs, want.String())
				}
				continue
			}
			if got, fault := own.Text(d); (fault == nil) != (err == nil) || err == nil && got != want.String() {
				t.Errorf("%s: %s, %v; want %s, %v", text, got, fault, want.String(), err)
			}
		}
	}
}

// isRefusedByExample reports whether a template fails for the message with which each template is tried when it is read.
func isRefusedByExample(t *template.Template) bool {
	return t.Execute(&strings.Builder{}, Data{Kind: "Policy", Namespace: "shop", Name: "nights", Text: "x",
		Details: []string{"example"}, Count: 1}) != nil
}
