package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// coverCases adds the conditions of the cases of every switch that was reached to a coverage profile. The blocks that the
// go command writes leave them out, so gremlins would take them for not covered. Files are named from the module's root,
// which is the current directory.
func coverCases(profile string) error {
	content, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	covered := map[string][]block{}
	for scan := bufio.NewScanner(strings.NewReader(string(content))); scan.Scan(); {
		if name, b, ok := parseBlock(scan.Text()); ok {
			covered[name] = append(covered[name], b)
		}
	}
	var added strings.Builder
	for name, blocks := range covered {
		_, file, ok := strings.Cut(name, modulePrefix)
		if !ok {
			return fmt.Errorf("%s is not a file of %s", name, modulePrefix)
		}
		for _, b := range casesOf(path.Clean(file), blocks) {
			fmt.Fprintf(&added, "%s:%d.%d,%d.%d 1 1\n", name, b.from.line, b.from.column, b.to.line, b.to.column)
		}
	}
	return os.WriteFile(profile, append(content, added.String()...), 0o644)
}

const modulePrefix = "flyball.dev/flyball/"

type point struct{ line, column int }

func (p point) before(q point) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

// block is a stretch of source text that was run.
type block struct{ from, to point }

func (b block) has(p point) bool { return !p.before(b.from) && p.before(b.to) }

var blockPattern = regexp.MustCompile(`^(.+):(\d+)\.(\d+),(\d+)\.(\d+) \d+ (\d+)$`)

// parseBlock reads a line of a profile; ok is false for the header and for a block that was not run.
func parseBlock(line string) (name string, b block, ok bool) {
	m := blockPattern.FindStringSubmatch(line)
	if m == nil || m[6] == "0" {
		return "", block{}, false
	}
	var n [4]int
	for i := range n {
		n[i], _ = strconv.Atoi(m[i+2])
	}
	return m[1], block{point{n[0], n[1]}, point{n[2], n[3]}}, true
}

// casesOf returns the conditions of the switches that begin in one of the blocks.
func casesOf(name string, blocks []block) []block {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil // a file that go test has just compiled parses
	}
	at := func(p token.Pos) point { return point{set.Position(p).Line, set.Position(p).Column} }
	var cases []block
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SwitchStmt)
		if !ok {
			return true
		}
		for _, b := range blocks {
			if !b.has(at(s.Switch)) {
				continue
			}
			for _, clause := range s.Body.List {
				for _, e := range clause.(*ast.CaseClause).List {
					cases = append(cases, block{at(e.Pos()), at(e.End())})
				}
			}
			break
		}
		return true
	})
	return cases
}
