package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPagesAreCurrent compares docs/cli with what the commands say of themselves.
func TestPagesAreCurrent(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	want, have := pages(t, dir), pages(t, filepath.Join("..", "cli"))
	if diff := cmp.Diff(have, want); diff != "" {
		t.Errorf("run make generate; docs/cli (-) and the commands (+) differ:\n%s", diff)
	}
	if len(want) < 5 {
		t.Errorf("there are only %d pages", len(want))
	}
}

// TestKindsAreCurrent compares docs/kinds.md and the README's list with the adapters.
func TestKindsAreCurrent(t *testing.T) {
	dir := t.TempDir()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), readme, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeKinds(dir, filepath.Join(dir, "README.md"), filepath.Join("..", "..", "adapters", "tried.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, now := range map[string]string{"kinds.md": filepath.Join("..", "kinds.md"),
		"README.md": filepath.Join("..", "..", "README.md")} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), string(want)); diff != "" {
			t.Errorf("run make generate; %s (-) and the adapters (+) differ:\n%s", name, diff)
		}
	}
}

// TestHolidaysPageIsCurrent compares docs/holidays.md with the lists of holidays and the explanations of differences.
func TestHolidaysPageIsCurrent(t *testing.T) {
	dir := t.TempDir()
	if err := writeHolidays(filepath.Join("..", ".."), dir); err != nil {
		t.Fatal(err)
	}
	var texts [2]string
	for i, from := range []string{"..", dir} {
		raw, err := os.ReadFile(filepath.Join(from, "holidays.md"))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(raw)
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("run make generate; docs/holidays.md (-) and the lists (+) differ:\n%s", diff)
	}
}

func pages(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(text)
	}
	return all
}
