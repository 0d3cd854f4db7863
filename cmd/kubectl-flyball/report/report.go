// Package report prints what a verb has found: as text for people, or as JSON, YAML or names for programs. What is printed is
// computed before; colours appear only where they were asked for, and never move a column.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/engine/workload"
)

// Format is how a finding is printed.
type Format string

// Formats of -o.
const (
	Table Format = "table"
	Wide  Format = "wide"
	JSON  Format = "json"
	YAML  Format = "yaml"
	Name  Format = "name"
)

// Formats lists every format.
func Formats() []string {
	return []string{string(Table), string(Wide), string(JSON), string(YAML), string(Name)}
}

// ParseFormat reads the value of -o.
func ParseFormat(text string) (Format, error) {
	for _, f := range Formats() {
		if text == f {
			return Format(f), nil
		}
	}
	return "", fmt.Errorf("--output: %q is not one of %s", text, strings.Join(Formats(), ", "))
}

// Finding is what a verb has found. It encodes to JSON.
type Finding interface {
	// Text writes it for people.
	Text(*Writer)
	// Names lists what it is about, as kind/name.
	Names() []string
}

// Print writes a finding in a format.
func Print(out io.Writer, finding Finding, format Format, color bool) error {
	switch format {
	case JSON:
		return printJSON(out, finding)
	case YAML:
		text, err := yaml.Marshal(finding)
		if err != nil {
			return fmt.Errorf("encode the output: %w", err)
		}
		_, err = out.Write(text)
		return err
	case Name:
		for _, name := range finding.Names() {
			if _, err := fmt.Fprintln(out, Clean(name)); err != nil {
				return err
			}
		}
		return nil
	}
	w := &Writer{Wide: format == Wide, color: color}
	finding.Text(w)
	_, err := io.WriteString(out, w.text.String())
	return err
}

func printJSON(out io.Writer, finding Finding) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(finding); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	return nil
}

// Style is how a cell looks on a terminal.
type Style string

// Styles.
const (
	Plain Style = ""
	Good  Style = "\x1b[32m"
	Bad   Style = "\x1b[31m"
	Warn  Style = "\x1b[33m"
	Bold  Style = "\x1b[1m"
)

// Cell is one text of a table.
type Cell struct {
	Text  string
	Style Style
}

// Writer collects text for people.
type Writer struct {
	// Wide says that everything is wanted.
	Wide  bool
	color bool
	text  strings.Builder
}

// Line writes one line. What would move the cursor, break the line or turn its direction is escaped.
func (w *Writer) Line(format string, args ...any) {
	w.text.WriteString(w.clean(fmt.Sprintf(format, args...)))
	w.text.WriteByte('\n')
}

// Block writes YAML, whose encoder escapes what it has to.
func (w *Writer) Block(text string) {
	w.text.WriteString(strings.TrimSuffix(text, "\n"))
	w.text.WriteByte('\n')
}

// Clean makes one line of printable text of what files or a cluster supply: nobody draws on the terminal of a reader.
func Clean(text string) string { return workload.OneLine(text, math.MaxInt) }

// CleanLines is Clean of each line of a text, with tabs as spaces.
func CleanLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "  "), "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// codes are what Styled writes around a text.
var codes = regexp.MustCompile("\x1b\\[[0-9]{1,2}m")

// clean is Clean of all but the codes of styles, where colours are wanted.
func (w *Writer) clean(text string) string {
	if !w.color {
		return Clean(text)
	}
	var out strings.Builder
	end := 0
	for _, at := range codes.FindAllStringIndex(text, -1) {
		out.WriteString(Clean(text[end:at[0]]) + text[at[0]:at[1]])
		end = at[1]
	}
	return out.String() + Clean(text[end:])
}

// Heading writes a line that begins a part, after an empty line unless it is the first.
func (w *Writer) Heading(format string, args ...any) {
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	w.Line("%s", w.Styled(fmt.Sprintf(format, args...), Bold))
}

// Styled gives a text in a style, where colours are wanted.
func (w *Writer) Styled(text string, style Style) string {
	if !w.color || style == Plain || text == "" {
		return text
	}
	return string(style) + text + "\x1b[0m"
}

// Grid writes rows in columns three spaces apart, the first row as heads. Rows may be shorter than the heads.
func (w *Writer) Grid(indent string, heads []string, rows [][]Cell) {
	all := make([][]Cell, 0, len(rows)+1)
	if len(heads) > 0 {
		first := make([]Cell, len(heads))
		for i, h := range heads {
			first[i] = Cell{h, Bold}
		}
		all = append(all, first)
	}
	for _, row := range rows {
		clean := make([]Cell, len(row))
		for i, c := range row {
			clean[i] = Cell{Clean(c.Text), c.Style}
		}
		all = append(all, clean)
	}
	var widths []int
	for _, row := range all {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	for _, row := range all {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(w.Styled(c.Text, c.Style))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.Text)+3))
			}
		}
		w.Line("%s", indent+strings.TrimRight(line.String(), " "))
	}
}

// Row makes plain cells of texts.
func Row(texts ...string) []Cell {
	cells := make([]Cell, len(texts))
	for i, t := range texts {
		cells[i] = Cell{Text: t}
	}
	return cells
}
