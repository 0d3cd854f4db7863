package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/adapters/cases"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
)

// firstCount is the value of every count in the object of the first cases.
const firstCount = 3

// WriteTo writes the draft as adapter.yaml into a directory, with an object and one case per capability, and returns
// the names of the files. It returns an error if a file already exists, so that it overwrites no work.
func (d *Draft) WriteTo(dir string) ([]string, error) {
	manifest, err := d.Manifest()
	if err != nil {
		return nil, err
	}
	object, err := yaml.Marshal(d.object())
	if err != nil {
		return nil, fmt.Errorf("encode the object: %w", err)
	}
	files := map[string]string{"adapter.yaml": string(manifest)}
	for name, text := range d.cases() {
		at := filepath.Join("testdata", name)
		files[filepath.Join(at, "object.yaml")] = "# A draft: put in place of it an object as a cluster has it.\n" + string(object)
		files[filepath.Join(at, "case.yaml")] = text
	}
	names := slices.Sorted(maps.Keys(files))
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
		if _, err := os.Lstat(names[i]); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("write the draft: %s is there already, and nothing is written over; give another directory", names[i])
		}
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, fmt.Errorf("write the draft: %w", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("write the draft: %w", err)
		}
	}
	return names, nil
}

// cases returns the texts of case.yaml by folder name, one per capability.
func (d *Draft) cases() map[string]string {
	all := map[string]string{}
	for _, c := range d.compiled.Capabilities() {
		ask, ok := cases.Asks[c]
		if !ok {
			continue
		}
		state := "set"
		if c == v1alpha1.CapabilityScale || c == v1alpha1.CapabilitySuspend {
			state = "asleep"
		}
		all[strings.ToLower(string(c))] = fmt.Sprintf("# A draft: what the schedule asks for, and what the object is then.\nask: %s\nstate: %s\n",
			ask, state)
	}
	return all
}

// object returns an object of the kind with the fields used by the draft.
func (d *Draft) object() map[string]any {
	s := &d.Adapter.Spec
	obj := map[string]any{
		"apiVersion": strings.TrimPrefix(s.Target.Group+"/"+s.Target.Versions[0], "/"), "kind": s.Target.Kind,
		"metadata": map[string]any{"namespace": "shop", "name": "a", "uid": "1", "resourceVersion": "1"},
	}
	for _, c := range s.Scale {
		if c.Each != "" {
			list := strings.TrimSuffix(string(c.Each), "[*]")
			put(obj, list, []any{map[string]any{strings.TrimPrefix(string(c.NameFrom), "."): "main",
				strings.TrimPrefix(string(c.Replicas), "."): firstCount}})
			continue
		}
		put(obj, string(c.Replicas), c.Minimum+firstCount)
	}
	for _, variant := range slices.Concat(s.Suspend, s.Hold) {
		for _, write := range variant.Set {
			var value bool
			if json.Unmarshal(write.Value.Raw, &value) == nil {
				put(obj, string(write.Path), !value)
			}
		}
	}
	if b := s.Bounds; b != nil {
		put(obj, string(b.Min.Path), 2)
		put(obj, string(b.Max.Path), 2*firstCount)
	}
	requests := map[string]any{"requests": map[string]any{"cpu": "500m", "memory": "512Mi"}}
	if p := s.Pods; p != nil {
		labels := map[string]any{"app": "a"}
		put(obj, string(p.Template), map[string]any{"metadata": map[string]any{"labels": labels},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": "registry.example.com/a", "resources": requests}}}})
		if p.Selector != "" {
			put(obj, string(p.Selector), map[string]any{"matchLabels": labels})
		}
	} else if len(s.Resources) > 0 {
		put(obj, ".spec.resources", requests)
	}
	if s.Governs != "" {
		put(obj, string(s.Governs), map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"})
	}
	return obj
}

// put sets a field of an object by a path of plain names.
func put(obj map[string]any, path string, value any) {
	names := strings.Split(strings.TrimPrefix(path, "."), ".")
	for _, name := range names[:len(names)-1] {
		next, ok := obj[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			obj[name] = next
		}
		obj = next
	}
	obj[names[len(names)-1]] = value
}

// Written lists the files of a draft.
type Written struct {
	Dir   string   `json:"dir"`
	Files []string `json:"files"`
}

// Names implements printer.Finding.
func (w Written) Names() []string { return w.Files }

// Text implements printer.Finding.
func (w Written) Text(out *printer.Writer) {
	for _, file := range w.Files {
		out.Line("%s", file)
	}
	out.Line("Read them, then run kubectl flyball adapter test %s --update, and read what it has written.", w.Dir)
}
