package times_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"flyball.dev/flyball/engine/policy/times"
)

func TestFilesOfOtherEncodingsAreRead(t *testing.T) {
	const before, after = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:", "\r\nDTSTART;VALUE=DATE:20370511\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	wide := func(order binary.AppendByteOrder, name string) string {
		out := order.AppendUint16(nil, 0xfeff)
		for _, unit := range utf16.Encode([]rune(before + name + after)) {
			out = order.AppendUint16(out, unit)
		}
		return string(out)
	}
	for _, tc := range []struct{ text, name, encoding string }{
		{before + "Köln" + after, "Köln", ""},
		{"\ufeff" + before + "Köln" + after, "Köln", ""},
		{before + "K\xc3\r\n \xb6ln" + after, "Köln", ""},
		{before + "K\xc3\n\t\xb6ln" + after, "Köln", ""},
		{strings.ReplaceAll(before+"Köln"+after, "\r\n", "\r"), "Köln", ""},
		{strings.ReplaceAll(before+"K\xc3\r\n \xb6ln"+after, "\r\n", "\r\r\n"), "Köln", ""},
		{before + "K\xf6ln" + after, "Köln", "Latin-1"},
		{before + "K\xf6ln \x96 20 \x80" + after, "Köln – 20 €", "Windows-1252"},
		{wide(binary.LittleEndian, "Köln 😀"), "Köln 😀", "UTF-16 (little endian)"},
		{wide(binary.BigEndian, "Köln"), "Köln", "UTF-16 (big endian)"},
	} {
		read, err := times.ParseICS(tc.text, time.UTC)
		if err != nil || len(read.Events) != 1 || read.Events[0].Name != tc.name || read.Encoding != tc.encoding {
			t.Errorf("%q: %+v, %v", tc.text, read, err)
		}
	}
}
