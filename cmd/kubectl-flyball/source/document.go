package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// document is one object of a file, with where it stands.
type document struct {
	file string
	// line is the first line of the document in the file.
	line int
	text string
	json []byte
	// item is the place in a List that the object came in; -1: it came by itself.
	item int
}

// FileError is something wrong at one place of a file.
type FileError struct {
	File string
	// Line counts from 1; 0: the file as a whole.
	Line    int
	Message string
}

// Error is file:line: message.
func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// readDocuments reads files, directories with all below them, and - for standard input. It goes on after an error, so that every
// place is named at once.
func readDocuments(paths []string, stdin io.Reader) ([]*document, error) {
	var all []*document
	var faults []error
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			continue // given twice, as completion of shells does
		}
		files, err := filesOf(path)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for _, file := range files {
			text, err := readFile(file, stdin)
			if err != nil {
				faults = append(faults, &FileError{File: file, Message: err.Error()})
				continue
			}
			docs, errs := split(file, text)
			all, faults = append(all, docs...), append(faults, errs...)
		}
	}
	return all, errors.Join(faults...)
}

func readFile(file string, stdin io.Reader) (string, error) {
	if file == "-" {
		text, err := io.ReadAll(stdin)
		return string(text), err
	}
	text, err := os.ReadFile(file)
	var at *fs.PathError
	if errors.As(err, &at) {
		return "", at.Err
	}
	return string(text), err
}

// filesOf lists the manifests of a path, in order of their names.
func filesOf(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, &FileError{File: path, Message: "there is no such file or directory"}
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != path && strings.HasPrefix(name, ".") {
				return fs.SkipDir
			}
			return nil
		}
		ext := filepath.Ext(name)
		if slices.Contains([]string{".yaml", ".yml", ".json"}, ext) && strings.TrimSuffix(name, ext) != "kustomization" {
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		return nil, &FileError{File: path, Message: err.Error()}
	}
	if len(files) == 0 {
		return nil, &FileError{File: path, Message: "there are no .yaml, .yml or .json files in this directory"}
	}
	return files, nil
}

var (
	separator = regexp.MustCompile(`(?m)^---([ \t].*)?$`)
	yamlLine  = regexp.MustCompile(`line (\d+)`)
)

// split takes the text of a file apart into its objects; the items of Lists become objects of their own.
func split(file, text string) (docs []*document, faults []error) {
	start := 0
	edges := append(separator.FindAllStringIndex(text, -1), []int{len(text), len(text)})
	for _, edge := range edges {
		part := text[start:edge[0]]
		line := 1 + strings.Count(text[:start], "\n")
		start = edge[1]
		if isBlank(part) {
			continue
		}
		// The document keeps the lines of the file: line 1 of it is the line of its first byte.
		raw, err := yaml.YAMLToJSONStrict([]byte(part))
		if err != nil {
			faults = append(faults, syntaxFault(file, line, err))
			continue
		}
		more, errs := expand(&document{file: file, line: line, text: part, json: raw, item: -1})
		docs, faults = append(docs, more...), append(faults, errs...)
	}
	return docs, faults
}

// isBlank says whether a document has nothing but comments.
func isBlank(part string) bool {
	for line := range strings.Lines(part) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "#") {
			return false
		}
	}
	return true
}

// syntaxFault moves the line of a YAML error to where the document is in its file.
func syntaxFault(file string, line int, err error) error {
	message := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	message = strings.TrimPrefix(message, "yaml: ")
	at := line
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		n, _ := strconv.Atoi(m[1])
		at = line + n - 1
		message = strings.Replace(message, m[0]+": ", "", 1)
		message = strings.Replace(message, m[0], "line "+strconv.Itoa(at), 1)
	}
	return &FileError{File: file, Line: at, Message: "this is no YAML that can be read: " + strings.TrimSpace(message)}
}

// fault is an error at a field of the document, such as spec.asleep[0].from; of one that is not there, at what should hold it.
func (d *document) fault(field, format string, args ...any) *FileError {
	return &FileError{File: d.file, Line: d.lineOf(field), Message: fmt.Sprintf(format, args...)}
}

var fieldTokens = regexp.MustCompile(`\[[^\]]*\]|[^.\[\]]+`)

// lineOf is the line of a field.
func (d *document) lineOf(field string) int {
	var root yamlnode.Node
	if err := yamlnode.Unmarshal([]byte(d.text), &root); err != nil || len(root.Content) == 0 {
		return d.line
	}
	at := root.Content[0]
	line := at.Line
	if d.item >= 0 {
		field = fmt.Sprintf("items[%d].%s", d.item, field)
	}
	for _, token := range fieldTokens.FindAllString(field, -1) {
		key, next := step(at, strings.Trim(token, `[]"`))
		if next == nil {
			break
		}
		line, at = key.Line, next
	}
	return d.line + line - 1
}

// step goes from a node to one of its members; nil: there is none.
func step(at *yamlnode.Node, token string) (key, value *yamlnode.Node) {
	switch at.Kind {
	case yamlnode.MappingNode:
		for i := 0; i+1 < len(at.Content); i += 2 {
			if at.Content[i].Value == token {
				return at.Content[i], at.Content[i+1]
			}
		}
	case yamlnode.SequenceNode:
		if i, err := strconv.Atoi(token); err == nil && i < len(at.Content) {
			return at.Content[i], at.Content[i]
		}
	}
	return nil, nil
}
