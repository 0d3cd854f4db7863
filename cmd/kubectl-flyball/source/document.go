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
	"sync"

	yamlnode "go.yaml.in/yaml/v3"
)

// document is an object of a file, with its position.
type document struct {
	file string
	// line is the first line of the document in the file.
	line int
	json []byte
	// item is the index of the object in the List around it, or -1 if there is no List.
	item int
	// root returns the parsed text. The first call parses the text. The documents of one List share the result.
	root func() *yamlnode.Node
}

// newDocument returns a document for a text.
func newDocument(file string, line int, text string, raw []byte) *document {
	return &document{file: file, line: line, json: raw, item: -1, root: sync.OnceValue(func() *yamlnode.Node {
		var root yamlnode.Node
		if err := yamlnode.Unmarshal([]byte(text), &root); err != nil || len(root.Content) == 0 {
			return nil
		}
		return root.Content[0]
	})}
}

// FileError is an error at one place of a file.
type FileError struct {
	File string
	// Line is the number of the line, from 1. Zero means the whole file.
	Line    int
	Message string
}

// Error returns "file:line: message".
func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// maxFaults is the maximum number of faults that are reported at once.
const maxFaults = 20

// joined returns the faults as one error, or nil if there are none.
func joined(faults []error) error {
	faults = slices.DeleteFunc(faults, func(err error) bool { return err == nil })
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults:maxFaults], fmt.Errorf("and %d more", more))
	}
	return errors.Join(faults...)
}

// readDocuments reads files, and all files below directories. The path - means standard input. It continues after an
// error, so that all faults are reported at once.
func readDocuments(paths []string, stdin io.Reader) (all []*document, faults []error) {
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			continue // the completion of a shell may repeat arguments
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
	return all, faults
}

// maxFile is the maximum size of a file in bytes: a hundred times the API server's limit for an object.
const maxFile = 64 << 20

func readFile(file string, stdin io.Reader) (string, error) {
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return "", reason(err)
		}
		defer func() { _ = opened.Close() }()
		stdin = opened
	}
	text, err := io.ReadAll(io.LimitReader(stdin, maxFile+1))
	if err == nil && len(text) > maxFile {
		return "", fmt.Errorf("it has more than %d MiB", maxFile>>20)
	}
	return string(text), reason(err)
}

// reason returns an error about a file without the name of the file.
func reason(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return at.Err
	}
	return err
}

// filesOf returns the manifests of a path, sorted by name.
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

var yamlLine = regexp.MustCompile(`line (\d+)`)

// syntaxFault returns an error for a YAML error. It converts the line number in the document to the line number in the
// file.
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

// fault returns an error at a field of the document, such as spec.asleep[0].from. For a missing field, the error has
// the line of the field's parent.
func (d *document) fault(field, format string, args ...any) *FileError {
	return &FileError{File: d.file, Line: d.lineOf(field), Message: fmt.Sprintf(format, args...)}
}

var fieldTokens = regexp.MustCompile(`\[[^\]]*\]|[^.\[\]]+`)

// place returns the position of the document as file:line.
func (d *document) place() string { return fmt.Sprintf("%s:%d", d.file, d.lineOf("apiVersion")) }

// lineOf returns the line of a field.
func (d *document) lineOf(field string) int {
	at := d.root()
	if at == nil {
		return d.line
	}
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

// step returns the member of a node with the given token, or nil.
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
