package notify

import (
	"regexp"
	"strings"
	"testing"
	"text/template"

	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
)

// TestTemplatesRenderTheTextsOfGoTemplates renders templates with text/template too, and expects the same texts. A template is refused
// only if text/template fails for one of the messages.
func TestTemplatesRenderTheTextsOfGoTemplates(t *testing.T) {
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
		"{{1e3}} {{1e6}} {{0x1e3}} {{-0x1e3}} {{0x1p4}} {{'.'}} {{1_000}} {{017}} {{.5}} {{1.}}",
		"{{eq 1 '.'}} {{lt 1.5 1e3}}", "{{eq 1 1e0}}", "{{eq 483 0x1e3}}",
		"{{0xFFFFFFFFFFFFFFFF}}", "{{eq 18446744073709551615 1}}",
		"{{if .Command}}{{len .Count}}{{end}}", "{{if .In}}{{else}}{{.Text.Kind}}{{end}}", "{{if .Command}}{{json}}{{end}}",
		"{{range .Details}}{{else}}{{eq .Count .Kind}}{{end}}", "{{range .Details}}{{if eq . \"x\"}}{{.Kind}}{{end}}{{end}}",
		"{{len (or .In .Count)}}", "{{and .Command .Details | len}}", "{{eq .Kind \"Schedule\" 1}}", "{{eq (or .In .Kind) .Kind}}",
	} {
		if accepted, fails := rendersAsGo(t, text, messages...); !accepted && !fails {
			t.Errorf("%s is refused, but text/template renders it", text)
		}
	}
}

// messages are the data of all kinds of messages: each branch of a template is taken for one of them.
var messages = []Data{
	{Event: "Failed", Policy: "Schedule/shop/nights", Kind: "Schedule", Namespace: "shop", Name: "nights", At: "2026-03-02T13:30:00Z",
		Text: `a "text" <b>`, Details: []string{"x", "", "y"}, Count: 3},
	{Event: "TransitionAhead", Policy: "ClusterSchedule/all", Kind: "ClusterSchedule", Name: "all", In: "15m", Command: "wake", Count: 1,
		Details: []string{"z"}},
	{},
}

// rendersAsGo renders a template with text/template too. It expects of an accepted template the same text for each message. It reports
// whether the template is accepted, and whether text/template fails for a message.
func rendersAsGo(t interface{ Errorf(string, ...any) }, text string, messages ...Data) (accepted, fails bool) {
	own, errs := Compile(notification(func(n *v1alpha1.Notification) { n.Spec.Template = text }))
	whole, err := template.New("template").Funcs(template.FuncMap{"json": jsonText}).Parse(text)
	if err != nil {
		if len(errs) == 0 {
			t.Errorf("%s is accepted, but text/template says: %v", text, err)
		}
		return false, true
	}
	for _, d := range messages {
		var want strings.Builder
		err := whole.Execute(&want, d)
		fails = fails || err != nil
		if len(errs) > 0 {
			continue
		}
		if got, fault := own.Text(d); err != nil || fault != nil || got != want.String() {
			t.Errorf("%s of %+v: %s, %v; want %s, %v", text, d, got, fault, want.String(), err)
		}
	}
	return len(errs) == 0, fails
}

// pipes draws a pipe of a template. Most fail for no message.
func pipes(functions []string, depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var commands []string
		for range rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "commands") {
			arg := arguments(functions, depth)
			if rapid.Bool().Draw(t, "is constant or field") {
				commands = append(commands, arg.Draw(t, "arg"))
				continue
			}
			words := append([]string{rapid.SampledFrom(functions).Draw(t, "function")}, rapid.SliceOfN(arg, 0, 3).Draw(t, "args")...)
			commands = append(commands, strings.Join(words, " "))
		}
		return strings.Join(commands, " | ")
	})
}

func arguments(functions []string, depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{".", ".Event", ".Kind", ".In", ".Text", ".Command", ".Details", ".Details", ".Count", ".Count",
		".Text.Kind", "true", "false", `"x"`, `""`, "`15m`", "0", "1", "2", "-1", "1.5", "1.0", "1e3", "1E6",
		"+2e1", "0x1e", "0x1e3", "-0x1e3", "0X1P4",
		"-0x1p4", "0x1.8p3", "0b101", "0o17", "017", "1_000", ".5", "2.", "'a'", "'.'", "'e'", "1i", "0i", "1e400", "0xFFFFFFFFFFFFFFFF",
		"9223372036854775807", "-9223372036854775809", "$", "nil", "len"})
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf, leaf, rapid.Map(pipes(functions, depth-1), func(pipe string) string { return "(" + pipe + ")" }))
}

func templates(depth int) *rapid.Generator[string] {
	all := []string{"json", "eq", "ne", "lt", "gt", "and", "or", "not", "len"}
	action := rapid.Map(pipes(all, 2), func(pipe string) string { return "{{" + pipe + "}}" })
	if depth == 0 {
		return action
	}
	return rapid.Custom(func(t *rapid.T) string {
		part := func(name string) string { return templates(depth-1).Draw(t, name) }
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			return "{{if " + action.Draw(t, "if")[2:] + part("then") + "{{else}}" + part("else") + "{{end}}"
		case 1:
			return "{{range .Details}}[" + part("each") + "]{{else}}" + part("none") + "{{end}}"
		case 2:
			return part("first") + " - " + part("second")
		}
		return action.Draw(t, "action")
	})
}

var drawnData = rapid.Custom(func(t *rapid.T) Data {
	word := rapid.SampledFrom([]string{"", "x", "15m", `a "b" <c>`})
	return Data{Event: word.Draw(t, "event"), Kind: word.Draw(t, "kind"), In: word.Draw(t, "in"), Text: word.Draw(t, "text"),
		Command: word.Draw(t, "command"), Details: rapid.SliceOfN(word, 0, 3).Draw(t, "details"), Count: rapid.IntRange(0, 3).Draw(t, "count")}
})

// An accepted template fails for no message, and has the text of text/template.
func TestAcceptedTemplatesRenderAsGoTemplatesForAnyMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rendersAsGo(t, templates(2).Draw(t, "template"), append(messages, drawnData.Draw(t, "data"))...)
	})
}

// isForeign matches variables, nil and complex numbers. They are refused, because no template of a message needs them.
var isForeign = regexp.MustCompile(`\$|nil|\di`)

// A pipe of functions that look at all their arguments is refused only if text/template fails for a message.
func TestRefusedPipesFailAsGoTemplates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "{{" + pipes([]string{"json", "ne", "lt", "gt", "not", "len"}, 2).Draw(t, "pipe") + "}}"
		accepted, fails := rendersAsGo(t, text, messages...)
		if !accepted && !fails && !isForeign.MatchString(text) {
			t.Fatalf("%s is refused, but text/template renders it", text)
		}
	})
}
