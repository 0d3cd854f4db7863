package printer

import "strings"

// commentWidth is the largest number of letters in a line of a comment. A line with one longer word may exceed it.
const commentWidth = 118

// Comment writes a text as lines of a YAML comment. The first line begins with lead, and the other lines are indented
// below it.
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
