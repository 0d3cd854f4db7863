package source

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// separator matches the line at which a document ends. The line is "---", after which the next document may begin on the
// same line, or "...".
var separator = regexp.MustCompile(`(?m)^(---|\.\.\.)([ \t\r].*)?$`)

// split returns the objects of a file and the items of its Lists. Every part of the file becomes an object or a fault.
// A plain YAML reader would silently stop after the first document.
func split(file, text string) (docs []*document, faults []error) {
	if !utf8.ValidString(text) {
		return nil, []error{&FileError{File: file, Message: "this is no text in UTF-8"}}
	}
	text = strings.TrimPrefix(text, "\ufeff") // some editors write a byte order mark
	line := 1
	take := func(part string) {
		more, errs := read(file, line, part)
		docs, faults = append(docs, more...), append(faults, errs...)
		line += strings.Count(part, "\n")
	}
	start := 0
	for _, at := range separator.FindAllStringIndex(text, -1) {
		take(text[start:at[0]])
		start = at[0]
		if text[start] == '.' {
			start = at[1]
		}
	}
	take(text[start:])
	return docs, faults
}

// read returns the objects of a part of a file. The part begins at the given line, and is one object or several JSON
// objects in a row.
func read(file string, line int, part string) (docs []*document, faults []error) {
	if isBlank(part) {
		return nil, nil
	}
	for _, one := range values(part) {
		// The document counts its lines as the file does: the line of its first byte is its line 1.
		raw, err := yaml.YAMLToJSONStrict([]byte(one))
		switch {
		case err != nil:
			faults = append(faults, syntaxFault(file, line, err))
		case !isOne(one):
			faults = append(faults, &FileError{File: file, Line: line, Message: "there is more after the first object: put --- between them"})
		default:
			more, errs := expand(newDocument(file, line, one, raw))
			docs, faults = append(docs, more...), append(faults, errs...)
		}
		line += strings.Count(one, "\n")
	}
	return docs, faults
}

// values returns the JSON values of a text, each with the space before it. A text that is not JSON is returned as one
// value.
func values(text string) (all []string) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return []string{text}
	}
	decoder, start := json.NewDecoder(strings.NewReader(text)), int64(0)
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) && len(all) > 0 {
			return all
		}
		if err != nil {
			return []string{text}
		}
		all = append(all, text[start:decoder.InputOffset()])
		start = decoder.InputOffset()
	}
}

// isOne reports whether a YAML text has exactly one document.
func isOne(text string) bool {
	decoder := yamlnode.NewDecoder(strings.NewReader(text))
	var node yamlnode.Node
	if err := decoder.Decode(&node); err != nil {
		return false
	}
	return errors.Is(decoder.Decode(&node), io.EOF)
}

// isBlank reports whether a document has nothing but comments and directives.
func isBlank(part string) bool {
	for line := range strings.Lines(strings.TrimPrefix(part, "---")) {
		if t := strings.TrimSpace(line); t != "" && t[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
