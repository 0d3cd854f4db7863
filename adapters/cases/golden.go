package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/engine/workload"
)

// golden compares a text with a golden file, or writes the file if update is true. For a nil text the file must not
// exist.
func (r *run) golden(name string, got []byte) {
	file := filepath.Join(r.dir, name)
	if r.update {
		if err := write(file, got); err != nil {
			r.failf("%v", err)
		}
		return
	}
	want, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && got == nil:
	case errors.Is(err, fs.ErrNotExist):
		r.failf("%s: there is no such file; found:\n%s", name, got)
	case err != nil:
		r.failf("%v", err)
	case got == nil:
		r.failf("%s: there is such a file, and nothing to be in it", name)
	default:
		if diff := lines(want, got); diff != "" {
			r.failf("%s, golden (-) and found (+):\n%s", name, diff)
		}
	}
}

func write(file string, text []byte) error {
	if text != nil {
		return os.WriteFile(file, text, 0o644)
	}
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// lines returns the lines in which two texts differ, without the common lines at the beginning and at the end; empty:
// the texts are equal.
func lines(want, got []byte) string {
	before, after := strings.SplitAfter(string(want), "\n"), strings.SplitAfter(string(got), "\n")
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	var text strings.Builder
	for _, line := range before {
		text.WriteString("- " + strings.TrimSuffix(line, "\n") + "\n")
	}
	for _, line := range after {
		text.WriteString("+ " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return text.String()
}

// reformat returns JSON as YAML with sorted keys.
func reformat(raw []byte) []byte {
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return fmt.Appendf(nil, "%v in %s", err, raw)
	}
	return text
}

// patchText returns a patch as indented JSON; nil: no patch.
func patchText(p *workload.Patch) []byte {
	if p == nil {
		return nil
	}
	var text bytes.Buffer
	if err := json.Indent(&text, p.Body, "", "  "); err != nil {
		return fmt.Appendf(nil, "%v in %s", err, p.Body)
	}
	return append(text.Bytes(), '\n')
}

// mutate applies a JSON patch if the text is a list, else a merge patch.
func mutate(object, patch []byte) ([]byte, error) {
	kind := types.MergePatchType
	if bytes.HasPrefix(bytes.TrimSpace(patch), []byte("[")) {
		kind = types.JSONPatchType
	}
	return apply(object, &workload.Patch{Type: kind, Body: patch})
}

// apply applies a patch like an API server, which also drops empty maps of labels and annotations.
func apply(object []byte, p *workload.Patch) ([]byte, error) {
	if p == nil {
		return object, nil
	}
	if p.Subresource != "" || p.Next != nil {
		return nil, fmt.Errorf("a golden case takes one patch, not to /%s: %s", p.Subresource, p.Body)
	}
	after, err := workload.Patched(object, p)
	if err != nil {
		return nil, fmt.Errorf("apply %s: %w", p.Body, err)
	}
	var tree map[string]any
	if err := json.Unmarshal(after, &tree); err != nil {
		return nil, fmt.Errorf("apply %s: %w", p.Body, err)
	}
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		for _, name := range []string{"annotations", "labels"} {
			if m, ok := metadata[name].(map[string]any); ok && len(m) == 0 {
				delete(metadata, name)
			}
		}
	}
	return json.Marshal(tree)
}
