package report

import "strings"

// commentWidth is how many letters a line of a comment has at most, unless a word is longer.
const commentWidth = 118

// Comment writes a text as lines of a YAML comment; those after the first are indented below the lead.
func Comment(w *Writer, lead, text string) {
	line := "# " + lead
	indent := "# " + strings.Repeat(" ", len(lead))
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len(line)+1+len(word) > commentWidth {
			w.Line("%s", line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	w.Line("%s", line)
}
