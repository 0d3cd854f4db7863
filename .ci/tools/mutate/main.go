// Command mutate runs gremlins over packages of the module, one after the other, and judges the result.
//
// It works on a snapshot of the checkout, so edits during the run change nothing. For each package it prints one line
// and writes what survived to bin/mutate/PACKAGE.survivors.txt, in the form of equivalent.txt. It exits with 1 where a
// package stays below its thresholds, or where an entry of equivalent.txt names no surviving mutant.
//
//	mutate ROOT GREMLINS PACKAGE...
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// coverageFloor is the least statement coverage, in percent, of a package that has a threshold.
const coverageFloor = 95

// efficacyFloor is the least share of covered mutants, in percent, that the tests of pkg must kill; 0 is no floor.
func efficacyFloor(pkg string) float64 {
	switch {
	case pkg == "engine/path", pkg == "engine/adapter", strings.HasPrefix(pkg, "engine/adapter/"):
		return 90
	case pkg == "engine/decide", pkg == "engine/pipeline", pkg == "engine/timeline",
		strings.HasPrefix(pkg, "engine/policy/"):
		return 95
	}
	return 0
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "cases" { // from the shim
		if err := coverCases(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: mutate ROOT GREMLINS PACKAGE...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, os.Args[1], os.Args[2], os.Args[3:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run mutates the packages and reports whether all of them are above their thresholds.
func run(ctx context.Context, root, gremlins string, patterns []string) (bool, error) {
	equivalents, err := readEquivalents(filepath.Join(root, ".ci/tools/mutate/equivalent.txt"))
	if err != nil {
		return false, err
	}
	temp, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(temp)
	s := session{root: root, gremlins: gremlins, temp: temp, snapshot: filepath.Join(temp, "snapshot"),
		out: filepath.Join(root, "bin/mutate")}
	if err := s.prepare(ctx); err != nil {
		return false, err
	}
	packages, err := s.expand(ctx, patterns)
	if err != nil {
		return false, err
	}
	fmt.Println(tableHeader)
	ok := true
	for _, pkg := range packages {
		r, err := s.mutate(ctx, pkg, equivalents)
		if err != nil {
			return false, fmt.Errorf("%s: %w", pkg, err)
		}
		fmt.Println(r.line())
		ok = ok && r.passes()
	}
	return ok, nil
}

// session is one run of the command over one snapshot.
type session struct {
	root, gremlins, temp, snapshot, out string
}

// prepare copies the files that git knows or would add into the snapshot, and makes the output directory.
func (s session) prepare(ctx context.Context) error {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = s.root
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("listing the files of %s: %w", s.root, err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(names), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(s.root, name), filepath.Join(s.snapshot, name)); err != nil {
			return err
		}
	}
	return os.MkdirAll(s.out, 0o755)
}

// copyFile copies a regular file. It passes over everything else, and over a file that was deleted.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if os.IsNotExist(err) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

// expand turns patterns such as engine/policy/... into package directories below the module's root.
func (s session) expand(ctx context.Context, patterns []string) ([]string, error) {
	args := []string{"list", "-f", "{{.Dir}}"}
	for _, p := range patterns {
		args = append(args, "./"+p)
	}
	list := exec.CommandContext(ctx, "go", args...)
	list.Dir, list.Stderr = s.snapshot, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages %v: %w", patterns, err)
	}
	var packages []string
	for _, dir := range strings.Fields(string(out)) {
		pkg, err := filepath.Rel(s.snapshot, dir)
		if err != nil {
			return nil, err
		}
		packages = append(packages, pkg)
	}
	return packages, nil
}

// mutate runs gremlins over one package and judges what it found.
func (s session) mutate(ctx context.Context, pkg string, equivalents []equivalent) (result, error) {
	coverage, err := s.coverage(ctx, pkg)
	if err != nil {
		return result{}, err
	}
	base := filepath.Join(s.out, strings.ReplaceAll(pkg, "/", "-"))
	log, err := os.Create(base + ".log")
	if err != nil {
		return result{}, err
	}
	defer log.Close()
	found := filepath.Join(s.temp, strings.ReplaceAll(pkg, "/", "-")+".json")
	// Files of packages below this one have a slash in their name; they get a run of their own.
	args := []string{"unleash", "--exclude-files", "/", "--timeout-coefficient", "30", "--output", found}
	if workers := os.Getenv("MUTATE_WORKERS"); workers != "" {
		args = append(args, "--workers", workers)
	}
	cmd := s.command(ctx, log, s.gremlins, append(args, "./"+pkg)...)
	if err := cmd.Run(); err != nil {
		return result{}, fmt.Errorf("gremlins: %w (see %s)", err, log.Name())
	}
	var report gremlinsReport
	raw, err := os.ReadFile(found)
	if errors.Is(err, fs.ErrNotExist) { // there is nothing in the package to mutate
		raw, err = []byte("{}"), nil
	}
	if err != nil {
		return result{}, err
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return result{}, err
	}
	r, err := judge(s.snapshot, pkg, coverage, report, equivalents)
	if err != nil {
		return result{}, err
	}
	return r, os.WriteFile(base+".survivors.txt", []byte(r.survivors()), 0o644)
}

var coveragePattern = regexp.MustCompile(`coverage: ([0-9.]+)% of statements`)

// coverage is the statement coverage of the package by its own tests, in percent; 100 where there are no statements.
func (s session) coverage(ctx context.Context, pkg string) (float64, error) {
	var out strings.Builder
	if err := s.command(ctx, &out, "go", "test", "-cover", "./"+pkg).Run(); err != nil {
		return 0, fmt.Errorf("its tests fail without any mutation: %w\n%s", err, out.String())
	}
	m := coveragePattern.FindStringSubmatch(out.String())
	if m == nil {
		return 100, nil
	}
	return strconv.ParseFloat(m[1], 64)
}

// command is a command in the snapshot under which go is the shim. Tests are never cached, look at fewer samples than usual, and do
// not shrink what fails; binaries have no debug data. All of that is only to be quicker.
func (s session) command(ctx context.Context, out io.Writer, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.snapshot, out, out
	shim := filepath.Join(s.snapshot, ".ci/tools/mutate/shim")
	cmd.Env = append(os.Environ(),
		"MUTATE="+os.Args[0], "PATH="+shim+string(os.PathListSeparator)+os.Getenv("PATH"), "TMPDIR="+s.temp,
		"GOFLAGS=-vet=off -count=1 -short -ldflags=-w", "RAPID_CHECKS=25", "RAPID_SHRINKTIME=1ms", "RAPID_NOFAILFILE=true")
	return cmd
}
