package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gremlinsReport is the part of gremlins' JSON output that is read.
type gremlinsReport struct {
	Files []struct {
		Name      string     `json:"file_name"`
		Mutations []mutation `json:"mutations"`
	} `json:"files"`
}

type mutation struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// place names a mutant without line numbers: the file from the module's root, the function, the kind of mutation, which
// of the mutants of this kind on its line it is (from 1), and the text of the line.
type place struct {
	file, function, kind string
	nth                  int
	text                 string
}

func (p place) String() string {
	kind := p.kind
	if p.nth > 1 {
		kind = fmt.Sprintf("%s#%d", kind, p.nth)
	}
	return fmt.Sprintf("%s %s %s\n\t%s", p.file, p.function, kind, p.text)
}

// mutant is one mutation and what became of it.
type mutant struct {
	place
	line, column int
	status       string
	equivalent   bool
}

// result is what the tests of one package made of its mutants.
type result struct {
	pkg      string
	coverage float64
	mutants  []mutant
	// stale are the entries of equivalent.txt for this package that name no mutant that lived.
	stale []place
}

// judge finds the place of every mutant, and marks those that equivalents lists.
func judge(root, pkg string, coverage float64, report gremlinsReport, equivalents []equivalent) (result, error) {
	r := result{pkg: pkg, coverage: coverage}
	for _, file := range report.Files {
		name := filepath.Join(pkg, filepath.Base(file.Name))
		source, err := readSource(filepath.Join(root, name))
		if err != nil {
			return r, err
		}
		type key struct {
			kind string
			line int
		}
		seen := map[key]int{}
		slices.SortFunc(file.Mutations, func(a, b mutation) int {
			return cmp.Or(a.Line-b.Line, a.Column-b.Column)
		})
		for _, m := range file.Mutations {
			seen[key{m.Type, m.Line}]++
			r.mutants = append(r.mutants, mutant{
				place: place{name, source.function(m.Line), m.Type, seen[key{m.Type, m.Line}], source.text(m.Line)},
				line:  m.Line, column: m.Column, status: m.Status,
			})
		}
	}
	for _, e := range equivalents {
		if filepath.Dir(e.file) == pkg && !r.mark(e.place) {
			r.stale = append(r.stale, e.place)
		}
	}
	return r, nil
}

// mark marks the surviving mutants at a place as equivalent and reports whether there are any.
func (r *result) mark(p place) bool {
	found := false
	for i := range r.mutants {
		if m := &r.mutants[i]; m.place == p && m.status == lived {
			m.equivalent, found = true, true
		}
	}
	return found
}

const (
	killed     = "KILLED"
	lived      = "LIVED"
	timedOut   = "TIMED OUT"
	notCovered = "NOT COVERED"
)

// count is the number of mutants of a status, without those that are equivalent.
func (r result) count(status string) int {
	n := 0
	for _, m := range r.mutants {
		if m.status == status && !m.equivalent {
			n++
		}
	}
	return n
}

// efficacy is the share of the covered mutants that were killed, in percent. A mutant that ran out of time counts on
// neither side: the machine was too busy to tell.
func (r result) efficacy() float64 {
	k, l := r.count(killed), r.count(lived)
	if k+l == 0 {
		return 100
	}
	return 100 * float64(k) / float64(k+l)
}

func (r result) passes() bool {
	floor := efficacyFloor(r.pkg)
	return len(r.stale) == 0 && (floor == 0 || r.efficacy() >= floor && r.coverage >= coverageFloor)
}

const tableHeader = "package                      killed  lived  equivalent  timed out  not covered  efficacy  statements"

func (r result) line() string {
	equivalents := 0
	for _, m := range r.mutants {
		if m.equivalent {
			equivalents++
		}
	}
	verdict := ""
	if !r.passes() {
		verdict = fmt.Sprintf("  BELOW %.0f %% killed or %d %% of statements", efficacyFloor(r.pkg), coverageFloor)
	}
	for _, p := range r.stale {
		verdict += fmt.Sprintf("\nequivalent.txt names a mutant that is gone or was killed: %s", p)
	}
	return fmt.Sprintf("%-28s %6d %6d %11d %10d %12d %7.1f %% %9.1f %%%s", r.pkg, r.count(killed), r.count(lived),
		equivalents, r.count(timedOut), r.count(notCovered), r.efficacy(), r.coverage, verdict)
}

// survivors lists the mutants that the tests did not notice, in the form of equivalent.txt.
func (r result) survivors() string {
	var b strings.Builder
	for _, m := range r.mutants {
		if m.status == killed || m.equivalent || m.status == "NOT VIABLE" {
			continue
		}
		fmt.Fprintf(&b, "%s\n\t-- %s at %d:%d\n\n", m.place, m.status, m.line, m.column)
	}
	return b.String()
}

// source is a parsed file and its lines.
type source struct {
	set   *token.FileSet
	file  *ast.File
	lines []string
}

func readSource(name string) (source, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return source{}, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, content, parser.SkipObjectResolution)
	return source{set, file, strings.Split(string(content), "\n")}, err
}

func (s source) text(line int) string { return strings.TrimSpace(s.lines[line-1]) }

// function names the function that a line is in: name, or type.name for a method, or - outside of functions.
func (s source) function(line int) string {
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || line < s.set.Position(f.Pos()).Line || line > s.set.Position(f.End()).Line {
			continue
		}
		if f.Recv == nil {
			return f.Name.Name
		}
		return receiver(f.Recv.List[0].Type) + "." + f.Name.Name
	}
	return "-"
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}
