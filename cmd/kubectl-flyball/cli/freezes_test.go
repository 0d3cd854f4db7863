package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/freezes"
)

func TestWriteICS(t *testing.T) {
	start := time.Date(2037, 12, 20, 0, 0, 0, 0, time.UTC)
	a := freezes.Agenda{From: start, To: start.AddDate(0, 0, 30), Entries: []freezes.Entry{
		{Policy: "ClusterChangeFreeze/year-end", Effect: "denies", Actions: []string{"Create", "Delete"}, Start: start,
			End:    start.AddDate(0, 0, 14),
			Reason: "year-end; ask, before you " + strings.Repeat("übertreibst ", 12) + "\nsecond line"},
		{Policy: "ClusterMaintenanceWindow/nights", Effect: "denies", Actions: []string{"Scale"}},
	}}
	var out bytes.Buffer
	if err := a.WriteICS(&out, start); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		if len(line) > 75 || strings.Contains(line, "\n") {
			t.Errorf("the line %q has %d bytes, or a bare newline", line, len(line))
		}
	}
	unfolded := strings.ReplaceAll(text, "\r\n ", "")
	for _, part := range []string{
		"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:", "DTSTART:20371220T000000Z\r\nDTEND:20380103T000000Z\r\n",
		`SUMMARY:ClusterChangeFreeze/year-end denies Create\, Delete`, `DESCRIPTION:year-end\; ask\, before you übertreibst`, `\nsecond line`,
		"UID:20371220T000000Z-clustermaintenancewindow.nights@flyball.dev", "DTEND:20380119T000000Z", "END:VCALENDAR\r\n",
	} {
		if !strings.Contains(unfolded, part) {
			t.Errorf("there is no %q in\n%s", part, unfolded)
		}
	}
}
