package report_test

import (
	"bytes"
	"strings"
	"testing"

	"flyball.dev/flyball/cmd/kubectl-flyball/report"
)

type crew struct {
	Members []string `json:"members"`
}

func (c crew) Names() []string { return c.Members }

func (c crew) Text(w *report.Writer) {
	w.Heading("Crew")
	w.Grid("  ", []string{"NAME", "STATE"}, [][]report.Cell{{{Text: "Zoë", Style: report.Good}, {Text: "up"}}, report.Row("Alexandra", "down")})
	if w.Wide {
		w.Line("%d in all", len(c.Members))
	}
}

func TestPrint(t *testing.T) {
	c := crew{Members: []string{"Zoë", "Alexandra"}}
	table := "Crew\n  NAME        STATE\n  Zoë         up\n  Alexandra   down\n"
	for format, want := range map[report.Format]string{
		report.Table: table,
		report.Wide:  table + "2 in all\n",
		report.JSON:  "{\n  \"members\": [\n    \"Zoë\",\n    \"Alexandra\"\n  ]\n}\n",
		report.YAML:  "members:\n- Zoë\n- Alexandra\n",
		report.Name:  "Zoë\nAlexandra\n",
	} {
		var out bytes.Buffer
		if err := report.Print(&out, c, format, false); err != nil || out.String() != want {
			t.Errorf("as %s:\n%s\nwant:\n%s (%v)", format, out.String(), want, err)
		}
	}
	var out bytes.Buffer
	if err := report.Print(&out, c, report.Table, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\x1b[32mZoë\x1b[0m         up") {
		t.Errorf("colours move a column: %q", out.String())
	}
}

func TestParseFormat(t *testing.T) {
	if f, err := report.ParseFormat("wide"); f != report.Wide || err != nil {
		t.Errorf("wide is %q, %v", f, err)
	}
	if _, err := report.ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "table, wide, json, yaml, name") {
		t.Errorf("xml: %v", err)
	}
}
