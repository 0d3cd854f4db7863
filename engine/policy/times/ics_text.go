package times

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// windows1252 are the characters of the bytes 0x80 to 0x9f in Windows-1252 (best fit of Microsoft: five bytes without a character
// are control characters). The other bytes are as in Latin-1.
var windows1252 = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

// lineBreaks makes each line break a line feed. Some programs write a carriage return alone, or two before the line feed. folds takes
// out the breaks of folded lines, which may lie within a character (RFC 5545, section 3.1).
var (
	lineBreaks = strings.NewReplacer("\r\r\n", "\n", "\r\n", "\n", "\r", "\n")
	folds      = strings.NewReplacer("\n ", "", "\n\t", "")
)

// decode returns a calendar file in UTF-8, except for folded characters, and any other encoding of the file. A byte order mark
// decides; without a mark, bytes other than UTF-8 are Windows-1252, or Latin-1 if both are the same.
func decode(file string) (text, encoding string) {
	switch {
	case strings.HasPrefix(file, "\xef\xbb\xbf"):
		file = file[3:]
	case strings.HasPrefix(file, "\xff\xfe"):
		return utf16Text(file[2:], binary.LittleEndian), "UTF-16 (little endian)"
	case strings.HasPrefix(file, "\xfe\xff"):
		return utf16Text(file[2:], binary.BigEndian), "UTF-16 (big endian)"
	}
	if utf8.ValidString(file) || utf8.ValidString(folds.Replace(lineBreaks.Replace(file))) {
		return file, ""
	}
	var out strings.Builder
	encoding = "Latin-1"
	for _, b := range []byte(file) {
		r := rune(b)
		if b >= 0x80 && b <= 0x9f {
			r, encoding = windows1252[b-0x80], "Windows-1252"
		}
		out.WriteRune(r)
	}
	return out.String(), encoding
}

func utf16Text(file string, order binary.ByteOrder) string {
	var units []uint16
	for at := 0; at+1 < len(file); at += 2 {
		units = append(units, order.Uint16([]byte(file[at:at+2])))
	}
	return string(utf16.Decode(units))
}
