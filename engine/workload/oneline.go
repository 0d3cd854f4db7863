package workload

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// OneLine returns a text from users as one printable line of limited length in bytes. Line ends, control characters and
// characters that change the text direction are escaped as in Go, so no text can forge a log line or hide a part
// of a message. A shortened text ends in "...".
func OneLine(text string, limit int) string {
	const cut = "..."
	if len(text) <= limit && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return text
	}
	var line strings.Builder
	short := 0 // the length of the longest beginning that leaves room for "..."
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		piece := text[i : i+size]
		if r == utf8.RuneError && size == 1 || !strconv.IsPrint(r) {
			piece = strings.Trim(strconv.Quote(piece), `"`)
		}
		if line.Len()+len(piece) > limit {
			return line.String()[:short] + cut[:min(len(cut), limit)]
		}
		line.WriteString(piece)
		if line.Len()+len(cut) <= limit {
			short = line.Len()
		}
		i += size
	}
	return line.String()
}
