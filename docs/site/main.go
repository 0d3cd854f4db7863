// Command site writes the documentation as pages for a browser; make docs-site calls it. The command and its pages need no network: the
// pages have no scripts and no foreign fonts. A link that leads nowhere, in a page or at a heading, is an error.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: site REPOSITORY DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// run writes the site of a repository into a new directory.
func run(root, dir string) error {
	s := site{root: root, pages: map[string]*page{}, files: map[string][]byte{}}
	if err := s.read(); err != nil {
		return err
	}
	var errs []error
	for _, p := range s.sorted() {
		errs = append(errs, s.link(p)...)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, p := range s.sorted() {
		text, err := s.render(p)
		if err != nil {
			return err
		}
		s.files[p.html] = text
	}
	icon, err := os.ReadFile(filepath.Join(root, "deploy/icon.svg"))
	if err != nil {
		return fmt.Errorf("read the icon: %w", err)
	}
	s.files["icon.svg"] = icon
	for name, text := range s.files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("make a directory of the site: %w", err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return fmt.Errorf("write a page: %w", err)
		}
	}
	return nil
}
