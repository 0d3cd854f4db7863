// Package printer prints the finding of a verb: as text for people, or as JSON, YAML or names for programs. Colours
// appear only on request and never move a column. It also parses the instants and spans of the command line: a text with two
// meanings is refused, and the error names both.
package printer

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

// Format is the output format of a finding.
type Format string

// These are the formats of -o.
const (
	Table Format = "table"
	Wide  Format = "wide"
	JSON  Format = "json"
	YAML  Format = "yaml"
	Name  Format = "name"
)

// Formats returns the names of all formats.
func Formats() []string {
	return []string{string(Table), string(Wide), string(JSON), string(YAML), string(Name)}
}

// ParseFormat parses the value of -o.
func ParseFormat(text string) (Format, error) {
	for _, f := range Formats() {
		if text == f {
			return Format(f), nil
		}
	}
	return "", fmt.Errorf("--output: %q is not one of %s", text, strings.Join(Formats(), ", "))
}

// Finding is the result of a verb. It encodes to JSON.
type Finding interface {
	// Text writes the finding for people.
	Text(*Writer)
	// Names returns the objects of the finding, as kind/name.
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

// Style is the appearance of a cell on a terminal.
type Style string

// These are the styles of cells.
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
	// Wide asks for every detail.
	Wide  bool
	color bool
	text  strings.Builder
}

// Line writes one line. It escapes characters that move the cursor, break the line or change its direction.
func (w *Writer) Line(format string, args ...any) {
	w.text.WriteString(w.clean(fmt.Sprintf(format, args...)))
	w.text.WriteByte('\n')
}

// Block writes YAML, whose encoder escapes special characters.
func (w *Writer) Block(text string) {
	w.text.WriteString(strings.TrimSuffix(text, "\n"))
	w.text.WriteByte('\n')
}

// Clean makes one line of printable text from untrusted input, so that files and objects cannot draw on the reader's
// terminal.
func Clean(text string) string { return workload.OneLine(text, math.MaxInt) }

// CleanLines applies Clean to each line of a text, and replaces tabs by spaces.
func CleanLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "  "), "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

// codes matches the codes that Styled writes around a text.
var codes = regexp.MustCompile("\x1b\\[[0-9]{1,2}m")

// clean applies Clean to a text, but keeps the codes of styles if colours are on.
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

// Heading writes the heading of a section, after an empty line unless it is the first line.
func (w *Writer) Heading(format string, args ...any) {
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	w.Line("%s", w.Styled(fmt.Sprintf(format, args...), Bold))
}

// Styled returns a text in a style, if colours are on.
func (w *Writer) Styled(text string, style Style) string {
	if !w.color || style == Plain || text == "" {
		return text
	}
	return string(style) + text + "\x1b[0m"
}

// Grid writes rows in columns three spaces apart, below a row with the column heads. A row may have fewer cells than
// there are heads.
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

// Row returns plain cells with the given texts.
func Row(texts ...string) []Cell {
	cells := make([]Cell, len(texts))
	for i, t := range texts {
		cells[i] = Cell{Text: t}
	}
	return cells
}
