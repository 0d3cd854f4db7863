package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileFiles gives harmful files to every verb with file arguments. Each verb ends with an error that names the
// file.
func TestHostileFiles(t *testing.T) {
	bomb := "a: &a [" + strings.Repeat("x, ", 9) + "]\n"
	for c := 'b'; c < 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9))
	}
	verbs := []string{
		"status --offline FILE", "status --targets --offline FILE", "pause schedule/nights --offline FILE",
		"pause schedule/nights --end --offline FILE", "explain deployment/web --offline FILE", "plan --offline FILE", "plan DEMO -f FILE",
		"can-i rollout deployment/web --offline FILE", "can-i -f FILE DEMO", "freezes --offline FILE",
		"wake deployment/web --for 1h --offline FILE", "sleep deployment/web --for 1h --offline FILE",
		"except deployment/web --allow rollout --for 1h --reason x --offline FILE", "adapter new gizmo -f FILE",
		"adapter check FILE --spec-only",
		"adapter try testdata/edits/gizmo-adapter.yaml gizmo/a -f FILE", "adapter rbac FILE", "migrate --offline FILE",
		"doctor --offline FILE", "report --offline FILE", "ui --no-browser --offline FILE",
	}
	for name, text := range map[string]string{
		"aliases":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + bomb,
		"deep":      strings.Repeat("[", 200_000),
		"deep map":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: " + strings.Repeat("{a: ", 50_000),
		"binary":    "\x7fELF\x00\x01\x02\xff\xfe",
		"controls":  "apiVersion: v1\nkind: \"Config\\e[2JMap\"\nmetadata: {}\n",
		"no object": "- 1\n- 2\n",
		"long line": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: " + strings.Repeat("x: ", 100_000) + "\n",
	} {
		file := filepath.Join(t.TempDir(), "hostile.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, line := range verbs {
			t.Run(name+"/"+line, func(t *testing.T) {
				line = strings.NewReplacer("DEMO", demo, "FILE", file).Replace(line)
				got := outcome(t, "", strings.Fields(line)...)
				if strings.HasPrefix(got, "exit code 0") || !strings.Contains(got, "--- standard error\nerror: "+file) ||
					strings.Contains(got, "\x1b") || strings.Contains(got, "--- standard output") {
					t.Errorf("%s:\n%.600s", line, got)
				}
			})
		}
	}
}

// TestTooLarge checks that a file too large for a manifest is refused before it is read completely.
func TestTooLarge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.yaml")
	made, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Truncate(1 << 40); err != nil { // a sparse file, which uses no disk space
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	if got := outcome(t, "", "status", "--offline", file); !strings.Contains(got, file+": it has more than 64 MiB") {
		t.Errorf("%.600s", got)
	}
	if got := outcome(t, "", "status", "--offline", "/dev/zero"); !strings.Contains(got, "/dev/zero: it has more than 64 MiB") {
		t.Errorf("%.600s", got)
	}
}

// TestManyFaults checks that the first faults of a file are listed and the others are only counted.
func TestManyFaults(t *testing.T) {
	text := "apiVersion: v1\nkind: List\nitems:\n"
	for i := range 2000 {
		text += fmt.Sprintf("- {apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: s%d, namespace: shop}, spec: {upscal: x}}\n",
			i)
	}
	got := outcome(t, text, "status", "--offline", "-")
	if strings.Count(got, "\n") > 60 || !strings.Contains(got, "-:4: spec.upscal is no field of Schedule") || !strings.Contains(got, "more") {
		t.Errorf("%.2000s", got)
	}
}

// TestManyPolicies checks that a very large directory of policies is read and answered.
func TestManyPolicies(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text,
			"---\n{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: s%d, namespace: shop}, spec: {target: {names: [web]}, "+
				"upscale: \"0 8 * * *\", downscale: \"0 20 * * *\"}}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "many.yaml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := outcome(t, "", "status", "--offline", dir, "-n", "shop", "-o", "name"); strings.Count(got,
		"schedule.flyball.dev/") != 1000 {
		t.Errorf("%.600s", got)
	}
	if got := outcome(t, "", "explain", "deployment/web", "--offline", dir, "--offline", "testdata/shop/workloads.yaml", "-n",
		"shop"); !strings.Contains(got, "because of Schedule/shop/s0") {
		t.Errorf("%.600s", got)
	}
}
