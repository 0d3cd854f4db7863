package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// sources are the documents, by patterns below the root of the repository, and their part of the menu.
var sources = []struct{ pattern, part string }{
	{"README.md", "Start"}, {"docs/*.md", "Guide"}, {"docs/policies/*.md", "Policies"}, {"docs/cli/*.md", "Commands"},
	{"docs/decisions/*.md", "Decisions"}, {"CHANGELOG.md", "Project"}, {"CONTRIBUTING.md", "Project"}, {"SECURITY.md", "Project"},
}

// page is one document. Its names are slash-separated: name is below the root of the repository, and html below that of the site.
type page struct {
	name, html, part, title string
	source                  []byte
	tree                    ast.Node
	// anchors are the identifiers of headings.
	anchors map[string]bool
}

// site is all documents, and the files that go with them by their names below the site.
type site struct {
	root  string
	pages map[string]*page
	files map[string][]byte
}

// markdown is GitHub's, without raw HTML.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// read parses all documents.
func (s *site) read() error {
	for _, source := range sources {
		names, err := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(source.pattern)))
		if err != nil || len(names) == 0 {
			return fmt.Errorf("find %s: %d files, %w", source.pattern, len(names), err)
		}
		for _, file := range names {
			content, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("read a document: %w", err)
			}
			name, err := filepath.Rel(s.root, file)
			if err != nil {
				return fmt.Errorf("name a document: %w", err)
			}
			p := parse(filepath.ToSlash(name), content)
			p.part = source.part
			s.pages[p.name] = p
		}
	}
	return nil
}

func parse(name string, content []byte) *page {
	p := &page{name: name, html: htmlName(name), title: name, source: content, anchors: map[string]bool{}}
	p.tree = markdown.Parser().Parse(text.NewReader(content), parser.WithContext(parser.NewContext(parser.WithIDs(headings(p.anchors)))))
	first := true
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering && first {
			p.title, first = plain(h, content), false
		}
		return ast.WalkContinue, nil
	})
	return p
}

// htmlName returns the page of a document: docs/ is the root of the site, and README.md its first page.
func htmlName(name string) string {
	switch name {
	case "README.md":
		return "index.html"
	case "SECURITY.md": // security.html is docs/security.md
		return "security-policy.html"
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md")) + ".html"
}

// plain returns the text of a heading.
func plain(n ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			out.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// headings gives headings the identifiers that GitHub gives them, so that a link works in both places. It notes them.
type headings map[string]bool

var dropped = regexp.MustCompile("[`*\\[\\]]|\\]\\([^)]*\\)")

// Generate returns the identifier of a heading.
func (h headings) Generate(value []byte, _ ast.NodeKind) []byte {
	var out strings.Builder
	for _, r := range strings.ToLower(dropped.ReplaceAllString(string(value), "")) {
		switch {
		case r == ' ':
			out.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			out.WriteRune(r)
		}
	}
	id := out.String()
	for n := 1; h[id]; n++ {
		id = fmt.Sprintf("%s-%d", out.String(), n)
	}
	h[id] = true
	return []byte(id)
}

// Put notes an identifier.
func (h headings) Put(value []byte) { h[string(value)] = true }

// sorted returns the pages in the order of the menu.
func (s *site) sorted() []*page {
	rank := func(p *page) int {
		for i, source := range sources {
			if ok, _ := path.Match(source.pattern, p.name); ok {
				return i
			}
		}
		return len(sources)
	}
	return slices.SortedFunc(maps.Values(s.pages), func(a, b *page) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.title, b.title), cmp.Compare(a.name, b.name))
	})
}
