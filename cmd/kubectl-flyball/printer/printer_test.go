package printer_test

import (
	"bytes"
	"strings"
	"testing"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
)

type crew struct {
	Members []string `json:"members"`
}

func (c crew) Names() []string { return c.Members }

func (c crew) Text(w *printer.Writer) {
	w.Heading("Crew")
	w.Grid("  ", []string{"NAME", "STATE"}, [][]printer.Cell{{{Text: "Zoë", Style: printer.Good}, {Text: "up"}},
		printer.Row("Alexandra", "down")})
	if w.Wide {
		w.Line("%d in all", len(c.Members))
	}
}

func TestReportPrintsEachFormat(t *testing.T) {
	c := crew{Members: []string{"Zoë", "Alexandra"}}
	table := "Crew\n  NAME        STATE\n  Zoë         up\n  Alexandra   down\n"
	for format, want := range map[printer.Format]string{
		printer.Table: table,
		printer.Wide:  table + "2 in all\n",
		printer.JSON:  "{\n  \"members\": [\n    \"Zoë\",\n    \"Alexandra\"\n  ]\n}\n",
		printer.YAML:  "members:\n- Zoë\n- Alexandra\n",
		printer.Name:  "Zoë\nAlexandra\n",
	} {
		var out bytes.Buffer
		if err := printer.Print(&out, c, format, false); err != nil || out.String() != want {
			t.Errorf("as %s:\n%s\nwant:\n%s (%v)", format, out.String(), want, err)
		}
	}
	var out bytes.Buffer
	if err := printer.Print(&out, c, printer.Table, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\x1b[32mZoë\x1b[0m         up") {
		t.Errorf("colours move a column: %q", out.String())
	}
}

// TestTextIsEscaped proves that quoted text cannot draw on the terminal, forge a line or move a column.
func TestTextIsEscaped(t *testing.T) {
	c := crew{Members: []string{"a\x1b[2Jb", "c\nd", "e\u202ef\u009b"}}
	for _, color := range []bool{false, true} {
		for _, format := range []printer.Format{printer.Table, printer.Wide, printer.Name} {
			var out bytes.Buffer
			if err := printer.Print(&out, quoted{c}, format, color); err != nil {
				t.Fatal(err)
			}
			for _, bad := range []string{"\x1b[2J", "c\nd", "\u202e", "\u009b"} {
				if strings.Contains(out.String(), bad) {
					t.Errorf("as %s, with colours %t: %q has %q", format, color, out.String(), bad)
				}
			}
			if !strings.Contains(out.String(), `a\x1b[2Jb`) || !strings.Contains(out.String(), `c\nd`) {
				t.Errorf("as %s: %q does not show the escaped text", format, out.String())
			}
		}
	}
	if got := printer.CleanLines("one\ntwo\x1b[8m"); got != "one\ntwo\\x1b[8m" {
		t.Errorf("lines: %q", got)
	}
}

// quoted prints a crew in every kind of output.
type quoted struct{ crew }

func (q quoted) Text(w *printer.Writer) {
	w.Heading("Crew of %s", q.Members[0])
	w.Grid("", nil, [][]printer.Cell{{{Text: q.Members[0], Style: printer.Bad}, {Text: q.Members[1]}, {Text: q.Members[2]}}})
	for _, m := range q.Members {
		w.Line("%s is %s", m, w.Styled(m, printer.Good))
	}
}

func TestParseFormat(t *testing.T) {
	if f, err := printer.ParseFormat("wide"); f != printer.Wide || err != nil {
		t.Errorf("wide is %q, %v", f, err)
	}
	if _, err := printer.ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "table, wide, json, yaml, name") {
		t.Errorf("xml: %v", err)
	}
}
