package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asCommand makes this test binary behave as the command, so that the tests need no second build.
const asCommand = "FLYBALL_CLUSTER_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// supervisor is a running "run" command.
type supervisor struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	lines *bufio.Scanner
	ready ready
	pids  map[string]int
}

func startRun(t *testing.T, args ...string) *supervisor {
	t.Helper()
	s := &supervisor{cmd: command(t, append([]string{"run"}, args...)...)}
	s.cmd.Stderr = t.Output()
	var err error
	if s.input, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.input.Close()
		_ = s.cmd.Wait() // the second wait in tests that check the status
	})
	s.lines = bufio.NewScanner(output)
	s.next(t, &s.ready)
	s.pids = componentPids(t, s.ready.Dir)
	return s
}

// next decodes the next line of output.
func (s *supervisor) next(t *testing.T, into any) {
	t.Helper()
	if !s.lines.Scan() {
		t.Fatalf("the command has ended: %v", s.lines.Err())
	}
	if err := json.Unmarshal(s.lines.Bytes(), into); err != nil {
		t.Fatalf("line %q: %v", s.lines.Text(), err)
	}
}

func componentPids(t *testing.T, dir string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "run", "*.pid"))
	if err != nil || len(files) == 0 {
		t.Fatalf("pid files in %s: %v, %v", dir, files, err)
	}
	pids := map[string]int{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if pids[filepath.Base(file)], err = strconv.Atoi(strings.TrimSpace(string(raw))); err != nil {
			t.Fatal(err)
		}
	}
	return pids
}

// alive distinguishes a running process from a missing or unreaped one.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // it may be ending; the next call then finds it gone
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func wantGone(t *testing.T, pids map[string]int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for name, pid := range pids {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Errorf("%s, pid %d, still runs", name, pid)
				break
			}
			<-look.C
		}
	}
}

func TestRunObeysItsInput(t *testing.T) {
	s := startRun(t, "--level", "api")
	for _, step := range []struct{ send, wantError string }{
		{send: "stop-apiserver"},
		{send: "stop-apiserver", wantError: "it does not run"},
		{send: "start-apiserver"},
		{send: "start-apiserver", wantError: "it runs already"},
		{send: "stop-controllers", wantError: "it does not run"},
		{send: "start-controllers", wantError: "it was not stopped"},
		{send: "dance", wantError: "unknown command"},
	} {
		if _, err := io.WriteString(s.input, step.send+"\n"); err != nil {
			t.Fatal(err)
		}
		var got answer
		s.next(t, &got)
		if got.Command != step.send || (got.Error == "") != (step.wantError == "") || !strings.Contains(got.Error, step.wantError) {
			t.Errorf("the answer to %s is %+v, want error %q", step.send, got, step.wantError)
		}
	}
	s.pids = componentPids(t, s.ready.Dir)
	if err := s.input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after its input was closed, the command ends with %v", err)
	}
	wantGone(t, s.pids)
	if _, err := os.Stat(s.ready.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cluster's directory: %v, want it gone", err)
	}
}

func TestRunLeavesNoProcess(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			s := startRun(t, "--level", "workloads", "--nodes", "3")
			defer os.RemoveAll(s.ready.Dir) // a killed command cannot remove it
			if len(s.pids) != 5 {
				t.Errorf("components are %v, want 5", s.pids)
			}
			if err := s.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			err := s.cmd.Wait()
			if killed := signal == syscall.SIGKILL; killed != (err != nil) {
				t.Errorf("after %s, the command ends with %v", signal, err)
			}
			wantGone(t, s.pids)
		})
	}
}

func TestRunEndsWithItsParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The shell is the parent. Its input, shared with the command, stays open; without this detour a shell gives
	// background commands an empty input.
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	shell := exec.Command("/bin/sh", "-c", `exec 3<&0; "$0" run --level api <&3 & wait`, self)
	shell.Env = append(os.Environ(), asCommand+"=1")
	shell.Stdin, shell.Stderr = read, t.Output()
	output, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	read.Close()
	s := &supervisor{cmd: shell, lines: bufio.NewScanner(output)}
	s.next(t, &s.ready)
	pids := componentPids(t, s.ready.Dir)
	if err := shell.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wantGone(t, pids)
	_ = shell.Wait() // killed
}

func TestBackgroundClusterStartsAndStops(t *testing.T) {
	name := fmt.Sprintf("test-%d", os.Getpid())
	output, err := command(t, "up", "--name", name, "--level", "api").Output()
	if err != nil {
		t.Fatalf("up: %v", err)
	}
	stopped := false
	defer func() {
		if stopped {
			return
		}
		if output, err := command(t, "down", "--name", name).CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, output)
		}
	}()
	kubeconfig, _, found := strings.Cut(strings.TrimPrefix(string(output), "export KUBECONFIG="), "\n")
	if !found || !strings.Contains(string(output), "down --name "+name) {
		t.Fatalf("up says %s", output)
	}
	pids := componentPids(t, filepath.Dir(kubeconfig))
	if output, err := command(t, "up", "--name", name).CombinedOutput(); err == nil || !strings.Contains(string(output), "runs already") {
		t.Errorf("a second up: %v, %s", err, output)
	}
	kubectl := exec.Command(filepath.Join(filepath.Dir(kubeconfig), "bin", "kubectl"), "--kubeconfig", kubeconfig, "get", "namespaces")
	if output, err := kubectl.CombinedOutput(); err != nil {
		t.Errorf("kubectl: %v\n%s", err, output)
	}
	listed := func() bool {
		output, err := command(t, "list").Output()
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		return strings.Contains(string(output), name)
	}
	if !listed() {
		t.Error("the cluster is not listed")
	}
	if output, err := command(t, "down", "--name", name).CombinedOutput(); err != nil {
		t.Fatalf("down: %v\n%s", err, output)
	}
	stopped = true
	for component, pid := range pids {
		if alive(pid) {
			t.Errorf("%s, pid %d, runs after down", component, pid)
		}
	}
	if listed() {
		t.Error("the cluster is listed after down")
	}
}

func TestUpShowsWhyItFailed(t *testing.T) {
	name := fmt.Sprintf("test-bad-%d", os.Getpid())
	output, err := command(t, "up", "--name="+name, "--extra-apiserver-arg=--no-such-flag").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "unknown flag: --no-such-flag") {
		t.Errorf("up: %v\n%s", err, output)
	}
	if output, err := command(t, "down", "--name", name).CombinedOutput(); err != nil {
		t.Errorf("down: %v\n%s", err, output)
	}
}

func TestWrongArgumentsShowUsage(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{args: "", code: 2, want: "Usage:"},
		{args: "help", code: 0, want: "Usage:"},
		{args: "run -h", code: 0, want: "stop-apiserver"},
		{args: "fly", code: 2, want: `unknown command "fly"`},
		{args: "run --level all", code: 2, want: "levels are api, workloads, metrics"},
		{args: "build extra", code: 2, want: `unexpected argument "extra"`},
		{args: "up --name ../x", code: 1, want: "small letters, digits and dashes"},
		{args: "down --name never-started", code: 1, want: "there is no cluster named never-started"},
	} {
		t.Run(test.args, func(t *testing.T) {
			cmd := command(t, strings.Fields(test.args)...)
			output, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != test.code || !strings.Contains(string(output), test.want) {
				t.Errorf("exit code %d (%v), want %d and %q:\n%s", cmd.ProcessState.ExitCode(), err, test.code, test.want, output)
			}
		})
	}
}
