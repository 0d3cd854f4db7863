package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCoverCases covers one of two functions; the conditions of its switch are added, those of the other's are not.
func TestCoverCases(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = `package p

func reached(a int) int {
	switch {
	case a < 1, a > 9:
		return 1
	}
	return 2
}

func missed(a int) int {
	switch {
	case a < 1:
		return 1
	}
	return 2
}
`
	if err := os.MkdirAll("engine", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.FromSlash("engine/p.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	const profile = "mode: set\n" +
		modulePrefix + "engine/p.go:3.25,4.9 1 1\n" +
		modulePrefix + "engine/p.go:11.24,12.9 1 0\n"
	if err := os.WriteFile("profile", []byte(profile), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := coverCases("profile"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("profile")
	if err != nil {
		t.Fatal(err)
	}
	want := modulePrefix + "engine/p.go:5.7,5.12 1 1\n" + modulePrefix + "engine/p.go:5.14,5.19 1 1\n"
	if added, ok := strings.CutPrefix(string(got), profile); !ok || added != want {
		t.Errorf("profile is\n%s\nwant these lines added:\n%s", got, want)
	}
}
