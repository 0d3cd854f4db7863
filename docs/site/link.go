package main

import (
	"fmt"
	"html"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// filesDir is the directory of the site with copies of files of the repository to which documents link.
const filesDir = "files"

// link makes the links of a page lead to pages and files of the site. It returns an error for each that leads nowhere.
func (s *site) link(p *page) (errs []error) {
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if l, ok := n.(*ast.Link); ok && entering {
			to, err := s.resolve(p, string(l.Destination))
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
			}
			l.Destination = []byte(to)
		}
		if i, ok := n.(*ast.Image); ok && entering {
			to, err := s.copied(p, path.Join(path.Dir(p.name), string(i.Destination)))
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
			}
			i.Destination = []byte(to)
		}
		return ast.WalkContinue, nil
	})
	return errs
}

// resolve returns the address of a link's target, relative to the page.
func (s *site) resolve(p *page, to string) (string, error) {
	if strings.HasPrefix(to, "https://") {
		return to, nil
	}
	if strings.Contains(to, ":") {
		return "", fmt.Errorf("the link %s is neither relative nor https", to)
	}
	file, anchor, anchored := strings.Cut(to, "#")
	target := p
	if file != "" {
		name := path.Join(path.Dir(p.name), file)
		if target = s.pages[name]; target == nil {
			return s.copied(p, name)
		}
	}
	if anchored && !target.anchors[anchor] {
		return "", fmt.Errorf("the link %s leads to no heading of %s", to, target.name)
	}
	out := relative(p.html, target.html)
	if anchored {
		out += "#" + anchor
	}
	return out, nil
}

// copied puts a file of the repository, or a list of a directory's files, into the site, and returns its address.
func (s *site) copied(p *page, name string) (string, error) {
	source := filepath.Join(s.root, filepath.FromSlash(name))
	info, err := os.Stat(source)
	if err != nil || strings.HasPrefix(name, "..") {
		return "", fmt.Errorf("the link to %s leads nowhere: %w", name, err)
	}
	if !info.IsDir() {
		return relative(p.html, s.copyFile(name)), s.failed(name)
	}
	index := path.Join(filesDir, name, "index.html")
	title := html.EscapeString(name)
	list := "<!doctype html>\n<meta charset=\"utf-8\"><title>" + title + "</title>\n<h1>" + title + "</h1>\n<ul>\n"
	err = filepath.WalkDir(source, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(s.root, file)
		if err != nil {
			return err
		}
		to := html.EscapeString(relative(index, s.copyFile(filepath.ToSlash(below))))
		list += "<li><a href=\"" + to + "\">" + to + "</a>\n"
		return s.failed(filepath.ToSlash(below))
	})
	s.files[index] = []byte(list + "</ul>\n")
	return relative(p.html, index), err
}

// placeOf returns the name of a copied file in the site. Text has an ending that browsers show.
func placeOf(name string) string {
	to := path.Join(filesDir, name)
	if path.Ext(name) == ".png" {
		return to
	}
	return to + ".txt"
}

// copyFile puts a file into the site and returns its name there.
func (s *site) copyFile(name string) string {
	to := placeOf(name)
	text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
	if err == nil {
		s.files[to] = text
	}
	return to
}

// failed reports a file that could not be copied.
func (s *site) failed(name string) error {
	if _, found := s.files[placeOf(name)]; !found {
		return fmt.Errorf("%s cannot be read", name)
	}
	return nil
}

// relative returns the address of one file of the site as seen from another.
func relative(from, to string) string {
	out, err := filepath.Rel(filepath.FromSlash(path.Dir(from)), filepath.FromSlash(to))
	if err != nil {
		return to // both are below the site, so there is no such error
	}
	return filepath.ToSlash(out)
}
