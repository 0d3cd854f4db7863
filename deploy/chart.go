package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// ChartFile is the chart's description. Its annotations below chartMark are generated.
const ChartFile = "deploy/helm/flyball/Chart.yaml"

// chartMark is the line between the handwritten part of ChartFile and the generated part.
const chartMark = "  # Generated from crds/, samples/ and CHANGELOG.md: make generate.\n"

// DevelopmentImage is the image in the repository's manifests. A release replaces it.
const DevelopmentImage = "flyball:dev"

// crdEntry is the description of a kind in the form of Artifact Hub.
type crdEntry struct {
	Kind        string `json:"kind"`
	Version     string `json:"version"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
}

// changeEntry is a line of the newest section of the changelog.
type changeEntry struct {
	Kind        string `json:"kind"`
	Description string `json:"description"`
}

// chartFile returns the text of ChartFile with new annotations for Artifact Hub.
func chartFile(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, ChartFile))
	if err != nil {
		return nil, fmt.Errorf("read the chart's description: %w", err)
	}
	written, _, found := strings.Cut(string(text), chartMark)
	if !found {
		return nil, fmt.Errorf("%s lacks the line %q", ChartFile, strings.TrimSpace(chartMark))
	}
	kinds, err := crdEntries(root)
	if err != nil {
		return nil, err
	}
	examples, err := crdExamples(root, kinds)
	if err != nil {
		return nil, err
	}
	changelog, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return nil, fmt.Errorf("read the changelog: %w", err)
	}
	out := written + chartMark
	for _, annotation := range []struct {
		name  string
		value any
	}{
		{"images", []map[string]string{{"name": "flyball", "image": DevelopmentImage}}},
		{"crds", kinds},
		{"crdsExamples", examples},
		{"changes", changes(string(changelog))},
	} {
		value, err := yaml.Marshal(annotation.value)
		if err != nil {
			return nil, fmt.Errorf("encode the annotation %s: %w", annotation.name, err)
		}
		out += "  artifacthub.io/" + annotation.name + ": |\n    " + strings.ReplaceAll(strings.TrimSpace(string(value)), "\n", "\n    ") + "\n"
	}
	return []byte(out), nil
}

// crdEntries returns the kinds of crds/, in the order of the files.
func crdEntries(root string) ([]crdEntry, error) {
	files, err := filepath.Glob(filepath.Join(root, "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("find CRDs: %d files, %w", len(files), err)
	}
	word := regexp.MustCompile(`([a-z])([A-Z])`)
	var all []crdEntry
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a CRD: %w", err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			return nil, fmt.Errorf("decode %s: %w", file, err)
		}
		for _, v := range crd.Spec.Versions {
			all = append(all, crdEntry{
				Kind: crd.Spec.Names.Kind, Version: v.Name, Name: crd.Name,
				DisplayName: word.ReplaceAllString(crd.Spec.Names.Kind, "$1 $2"),
				Description: strings.Join(strings.Fields(v.Schema.OpenAPIV3Schema.Description), " "),
			})
		}
	}
	return all, nil
}

// crdExamples returns the shortest sample of each kind that has samples.
func crdExamples(root string, kinds []crdEntry) ([]map[string]any, error) {
	shortest := map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, "samples"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, document := range regexp.MustCompile(`(?m)^---.*\n`).Split(string(text), -1) {
			var head struct{ APIVersion, Kind string }
			if err := yaml.Unmarshal([]byte(document), &head); err != nil {
				return fmt.Errorf("decode %s: %w", file, err)
			}
			key := head.APIVersion + "/" + head.Kind
			if old, found := shortest[key]; !found || len(document) < len(old) {
				shortest[key] = document
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the samples: %w", err)
	}
	var all []map[string]any
	for _, k := range kinds {
		_, group, _ := strings.Cut(k.Name, ".")
		text, found := shortest[group+"/"+k.Version+"/"+k.Kind]
		if !found {
			continue // users do not write objects of the kind
		}
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			return nil, fmt.Errorf("decode a sample of %s: %w", k.Kind, err)
		}
		all = append(all, object)
	}
	if len(all) == 0 {
		return nil, errors.New("no sample has a kind of crds/")
	}
	return all, nil
}

// changes returns the list items of the first section of a changelog as plain text. Items without a heading are
// additions.
func changes(changelog string) []changeEntry {
	_, section, _ := strings.Cut(changelog, "\n## ")
	section, _, _ = strings.Cut(section, "\n## ")
	var all []changeEntry
	kind, open := "added", false
	for _, line := range strings.Split(section, "\n") {
		switch {
		case strings.HasPrefix(line, "### "):
			kind, open = strings.ToLower(strings.TrimPrefix(line, "### ")), false
		case strings.HasPrefix(line, "- "):
			all, open = append(all, changeEntry{Kind: kind, Description: line[2:]}), true
		case open && strings.HasPrefix(line, "  "):
			all[len(all)-1].Description += " " + strings.TrimSpace(line)
		default:
			open = false
		}
	}
	for i := range all {
		all[i].Description = plain(all[i].Description)
	}
	return all
}

// plain returns Markdown as plain text. A link in brackets is removed, and other links are replaced by their text.
func plain(text string) string {
	text = regexp.MustCompile(` \(\[[^\]]*\]\([^)]*\)\)`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(text, "$1")
	return strings.NewReplacer("**", "", "`", "").Replace(text)
}
