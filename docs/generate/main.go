// Command generate writes docs/cli from the commands of kubectl flyball, docs/kinds.md and the README's list of kinds from the
// adapters, and docs/holidays.md from the lists of holidays.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

func main() {
	if err := write(filepath.Join("docs", "cli")); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
	if err := writeKinds("docs", "README.md", filepath.Join("adapters", "tried.yaml")); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
	if err := writeHolidays(".", "docs"); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write makes a page of each command in a directory, and removes pages of commands that are no more.
func write(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("remove an old page: %w", err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	root := cli.New(factory.Env{})
	root.DisableAutoGenTag = true
	if err := doc.GenMarkdownTree(root, dir); err != nil {
		return fmt.Errorf("write the pages of the commands: %w", err)
	}
	return below(root, dir)
}

// below puts the texts that stand below the flags into the pages.
func below(cmd *cobra.Command, dir string) error {
	if text := cmd.Annotations[factory.Reference]; text != "" {
		name := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "_")+".md")
		page, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read a page: %w", err)
		}
		before, after, _ := strings.Cut(string(page), "### SEE ALSO")
		if err := os.WriteFile(name, []byte(before+"### Files and queries\n\n```\n"+strings.TrimRight(text, "\n")+"\n```\n\n### SEE ALSO"+after),
			0o644); err != nil {
			return fmt.Errorf("write a page: %w", err)
		}
	}
	for _, c := range cmd.Commands() {
		if err := below(c, dir); err != nil {
			return err
		}
	}
	return nil
}
