package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// equivalent is a mutant that no test can notice, and why.
type equivalent struct {
	place
	reason string
}

// readEquivalents reads equivalent.txt: stanzas apart by an empty line, each of
//
//	FILE FUNCTION KIND     (or KIND#2 for the second mutant of this kind on the line)
//		the text of the line
//		-- the reason
//
// Lines that begin with # are comments. A reason may go on over further indented lines.
func readEquivalents(name string) ([]equivalent, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parseEquivalents(string(content))
}

func parseEquivalents(content string) ([]equivalent, error) {
	var all []equivalent
	for stanza := range strings.SplitSeq(content, "\n\n") {
		var lines []string
		for line := range strings.SplitSeq(stanza, "\n") {
			if line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		e, err := parseStanza(lines)
		if err != nil {
			return nil, fmt.Errorf("equivalent.txt: %w:\n%s", err, stanza)
		}
		all = append(all, e)
	}
	return all, nil
}

func parseStanza(lines []string) (equivalent, error) {
	head := strings.Fields(lines[0])
	isHead := func(line string) bool { return !strings.HasPrefix(line, "\t") }
	if len(head) != 3 || len(lines) < 3 || slices.ContainsFunc(lines[1:], isHead) {
		return equivalent{}, fmt.Errorf("a stanza is a line of file, function and kind, then the source line, then the reason, and an empty line")
	}
	reason, ok := strings.CutPrefix(strings.TrimSpace(strings.Join(lines[2:], "\n")), "-- ")
	if !ok || reason == "" {
		return equivalent{}, fmt.Errorf("the reason begins with --")
	}
	e := equivalent{place{head[0], head[1], head[2], 1, strings.TrimSpace(lines[1])}, reason}
	if kind, nth, ok := strings.Cut(head[2], "#"); ok {
		n, err := strconv.Atoi(nth)
		if err != nil || n < 2 {
			return equivalent{}, fmt.Errorf("%q is not the number of a mutant on its line from 2", nth)
		}
		e.kind, e.nth = kind, n
	}
	return e, nil
}
