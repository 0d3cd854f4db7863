package source

import (
	"strings"
	"testing"

	"flyball.dev/flyball/engine/path/rawjson"
)

// TestEveryDocumentIsRead checks that every document of a file is read, whatever separates the documents, or that the
// file is refused. A skipped document would not be judged at all.
func TestEveryDocumentIsRead(t *testing.T) {
	const (
		a = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
		b = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"
		j = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"j"}}`
		k = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"k"}}`
	)
	for name, test := range map[string]struct{ text, names, lines string }{
		"one":                         {a, "a", "1"},
		"two":                         {a + "---\n" + b, "a b", "1 5"},
		"comments":                    {"# a\n---\n" + a + "--- # b\n# more\n" + b + "---\n# nothing\n", "a b", "3 8"},
		"line ends of Windows":        {strings.ReplaceAll(a+"---\n"+b, "\n", "\r\n"), "a b", "1 5"},
		"a mark at the beginning":     {"\ufeff" + a + "---\n" + b, "a b", "1 5"},
		"a document on the separator": {"--- " + j + "\n---\n" + b, "j b", "1 3"},
		"dots after a document":       {a + "...\n" + b, "a b", "1 5"},
		"dots and a separator":        {a + "...\n---\n" + b + "...\n", "a b", "1 6"},
		"a version":                   {"%YAML 1.1\n---\n" + a, "a", "3"},
		"JSON one after the other":    {j + "\n" + k + "\n", "j k", "1 2"},
		"JSON over lines":             {strings.ReplaceAll(j, ",", ",\n") + k, "j k", "1 3"},
		"JSON and YAML":               {j + "\n---\n" + a, "j a", "1 3"},
		"a separator inside a text":   {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: |\n    ---\n    ...\n", "a", "1"},
		"YAML after JSON":             {j + "\n" + a, "1: there is more after the first object", ""},
		"something after a flow": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n{apiVersion: v1, kind: ConfigMap, " +
			"metadata: {name: b}}\n", "1: there is more after the first object", ""},
		"less indented": {"  " + strings.ReplaceAll(a, "\n", "\n  ") + "\n" + b, "1: there is more after the first object",
			""},
		"separators that only YAML breaks": {strings.ReplaceAll(a+"---\n"+b, "\n", "\u2028"), "1: there is more after the first object", ""},
		"a list":                           {"apiVersion: v1\nkind: List\nitems:\n- " + j + "\n- " + k + "\n", "j k", "4 5"},
		"a list in a list": {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: [" + j + "]}\n",
			"f:4: this is a list in a list", ""},
		"UTF-16": {"\xff\xfea\x00:\x00 \x001\x00", "this is no text in UTF-8", ""},
	} {
		docs, faults := split("f", test.text)
		var names, lines []string
		for _, d := range docs {
			names, lines = append(names, rawjson.GetBytes(d.json, "metadata.name").Str), append(lines, d.place())
		}
		if len(faults) > 0 {
			if err := joined(faults).Error(); !strings.Contains(err, test.names) || test.lines != "" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := strings.Join(names, " "); got != test.names || strings.Join(lines, " ") != strings.ReplaceAll("f:"+test.lines, " ", " f:") {
			t.Errorf("%s: %q at %q", name, got, lines)
		}
	}
}
