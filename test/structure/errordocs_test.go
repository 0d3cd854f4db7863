package structure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// saysErrorRE finds the mention of an error in a doc comment. A method that implements an interface has the errors of the interface.
var saysErrorRE = regexp.MustCompile(`(?i)error|fail| implements `)

// TestExportedFunctionsSayTheirErrors finds exported functions that return an error, where the doc comment has no word about the error.
func TestExportedFunctionsSayTheirErrors(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../engine", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range parsed.Decls {
			f, is := decl.(*ast.FuncDecl)
			if !is || !isExported(f) || !returnsError(f) {
				continue
			}
			if found++; !saysErrorRE.MatchString(f.Doc.Text()) {
				t.Errorf("%s: the comment of %s does not say when there is an error", file, f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 150 {
		t.Errorf("only %d functions were found", found)
	}
}

// isExported reports whether a function, or a method and the type of its receiver, is exported.
func isExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return f.Name.IsExported()
	}
	of := f.Recv.List[0].Type
	if pointer, is := of.(*ast.StarExpr); is {
		of = pointer.X
	}
	if generic, is := of.(*ast.IndexExpr); is {
		of = generic.X
	}
	id, is := of.(*ast.Ident)
	return is && id.IsExported() && f.Name.IsExported()
}

func returnsError(f *ast.FuncDecl) bool {
	return f.Type.Results != nil && slices.ContainsFunc(f.Type.Results.List, func(r *ast.Field) bool {
		id, is := r.Type.(*ast.Ident)
		return is && id.Name == "error"
	})
}
