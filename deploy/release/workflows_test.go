package release

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow has the rights of a GitHub workflow and the programs that it runs.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Uses        string
		Timeout     int `json:"timeout-minutes"`
		Steps       []struct {
			Uses, Run string
			With      map[string]any
		}
	}
}

// TestWorkflowsHaveFewRights checks each workflow: it has no right to write at its top level, its actions are pinned by
// commit with their version in a comment, each job has a time limit, its programs and make targets exist, and no script
// contains text from other users. .ci/lint checks the syntax.
func TestWorkflowsHaveFewRights(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*")
	if err != nil || len(files) < 2 {
		t.Fatalf("found %d workflows, %v", len(files), err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	pins := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !strings.Contains(string(text), "\npermissions:") {
			t.Errorf("%s has the default rights", file)
		}
		for scope, right := range w.Permissions {
			if right != "read" && right != "none" {
				t.Errorf("%s: every job may %s %s", file, right, scope)
			}
		}
		checkPins(t, file, string(text), pins)
		for name, job := range w.Jobs {
			if job.Uses == "" && job.Timeout == 0 {
				t.Errorf("%s: the job %s has no time limit", file, name)
			}
			for _, step := range job.Steps {
				if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
					t.Errorf("%s: the job %s leaves its token in the checkout", file, name)
				}
				checkScript(t, file, step.Run, string(makefile))
			}
		}
	}
}

// checkPins checks that each action is pinned by a commit, and by the same commit in all workflows.
func checkPins(t *testing.T, file, text string, pins map[string]string) {
	t.Helper()
	pinned := regexp.MustCompile(`^([\w./-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)$`)
	for _, m := range regexp.MustCompile(`(?m)uses: (.*)$`).FindAllStringSubmatch(text, -1) {
		if local, found := strings.CutPrefix(m[1], "./"); found {
			if _, err := os.Stat(filepath.Join("../..", local)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			continue
		}
		pin := pinned.FindStringSubmatch(m[1])
		if pin == nil {
			t.Errorf("%s: %q has no commit with its version", file, m[1])
		} else if old := pins[pin[1]]; old != "" && old != pin[2] {
			t.Errorf("%s: %s is pinned to %s and to %s", file, pin[1], old, pin[2])
		} else {
			pins[pin[1]] = pin[2]
		}
	}
}

// checkScript checks the programs of this repository in a step's script. Expressions must be passed in variables,
// because a shell does not run the text of a variable as code.
func checkScript(t *testing.T, file, script, makefile string) {
	t.Helper()
	if strings.Contains(script, "${{") {
		t.Errorf("%s: the script has an expression:\n%s", file, script)
	}
	for _, m := range regexp.MustCompile(`(?m)\bmake ([a-z-]+)`).FindAllStringSubmatch(script, -1) {
		if !strings.Contains(makefile, "\n"+m[1]+": ") {
			t.Errorf("%s: there is no make target %s", file, m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)(?:^|[\s(])(\.ci/[a-z-]+|deploy/[\w./-]+)`).FindAllStringSubmatch(script, -1) {
		if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
