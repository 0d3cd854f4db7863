package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryAddressOfTheSiteResolves writes the repository's site and follows every address in it: pages, headings,
// files and the icon. No page loads anything from a
// different host, and none has a script.
func TestEveryAddressOfTheSiteResolves(t *testing.T) {
	dir := t.TempDir()
	if err := run("../..", dir); err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`(href|src)="([^"]*)"`)
	pages, links, pictures := 0, 0, 0
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".html" {
			return err
		}
		pages++
		text := read(t, file)
		for _, foreign := range []string{"<script", "@import", "url(", "<iframe"} {
			if body := regexp.MustCompile(`(?s)<(pre|code)>.*?</(pre|code)>`).ReplaceAllString(text, ""); strings.Contains(body, foreign) {
				t.Errorf("%s has %s", file, foreign)
			}
		}
		for _, m := range address.FindAllStringSubmatch(text, -1) {
			links++
			follow(t, file, m[1], m[2])
			if filepath.Ext(m[2]) == ".png" {
				pictures++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 50 || links < 1000 || pictures == 0 {
		t.Errorf("there are %d pages with %d links and %d pictures", pages, links, pictures)
	}
}

// follow checks one address of a page.
func follow(t *testing.T, file, attribute, to string) {
	t.Helper()
	if strings.HasPrefix(to, "https://") && attribute == "href" {
		return
	}
	name, anchor, anchored := strings.Cut(to, "#")
	target := file
	if name != "" {
		target = filepath.Join(filepath.Dir(file), name)
	}
	if _, err := os.Stat(target); err != nil {
		t.Errorf("%s: %s: %v", file, to, err)
	} else if anchored && !strings.Contains(read(t, target), `id="`+anchor+`"`) {
		t.Errorf("%s: %s has no heading %s", file, target, anchor)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBrokenLinksAreErrors(t *testing.T) {
	for reason, body := range map[string]string{
		"docs/gone.md leads nowhere":                    "[a](gone.md)",
		"the link guide.md#gone leads to no heading of": "[a](guide.md#gone)",
		"the link #gone leads to no heading of":         "[a](#gone)",
		"the link http://example.com is neither":        "[a](http://example.com)",
		"docs/picture.png leads nowhere":                "![a](picture.png)",
		"example.com/a.png leads nowhere":               "![a](https://example.com/a.png)",
	} {
		s := site{root: t.TempDir(), pages: map[string]*page{}, files: map[string][]byte{}}
		p := parse("docs/guide.md", []byte("# Guide\n\n## A heading, with `code`\n\n[b](#a-heading-with-code)\n\n"+body+"\n"))
		s.pages[p.name] = p
		errs := s.link(p)
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), reason) {
			t.Errorf("%s: got %v, want %q", body, errs, reason)
		}
	}
}

func TestHeadingsAreThoseOfGitHub(t *testing.T) {
	p := parse("docs/guide.md", []byte("# A guide\n\n## When a replica goes\n\n## 2. The `rights`, again\n\n## When a replica goes\n"))
	for _, id := range []string{"a-guide", "when-a-replica-goes", "2-the-rights-again", "when-a-replica-goes-1"} {
		if !p.anchors[id] {
			t.Errorf("there is no heading %s: %v", id, p.anchors)
		}
	}
	if p.title != "A guide" || p.html != "guide.html" {
		t.Errorf("the page is %s at %s", p.title, p.html)
	}
}
