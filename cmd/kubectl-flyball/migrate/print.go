package migrate

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
)

// Finding is the printed result: the new objects with their notes, the parts left behind, and the manual steps.
type Finding struct {
	Objects []FindingObject `json:"objects"`
	Left    []Left          `json:"leftBehind"`
	Steps   []Step          `json:"steps,omitempty"`
	// Searched are the titles of the tools whose objects were searched.
	Searched []string `json:"-"`
}

// FindingObject is a new object of one of Flyball's kinds.
type FindingObject struct {
	From   string         `json:"from"`
	Notes  []string       `json:"differences,omitempty"`
	Object map[string]any `json:"object"`

	name string
}

// NewFinding returns the printed form of an output.
func NewFinding(out *Output, looked []Tool) (*Finding, error) {
	f := &Finding{Objects: []FindingObject{}, Left: append([]Left{}, out.Left...), Steps: out.Steps}
	for i := range looked {
		f.Searched = append(f.Searched, looked[i].Title)
	}
	for _, e := range out.Emitted {
		m, err := plain(e.Object)
		if err != nil {
			return nil, err
		}
		name := strings.ToLower(e.Object.GetObjectKind().GroupVersionKind().Kind) + "/" + e.Object.GetName()
		f.Objects = append(f.Objects, FindingObject{From: e.From, Notes: e.Notes, Object: m, name: name})
	}
	return f, nil
}

// Names implements printer.Finding.
func (f *Finding) Names() []string {
	names := make([]string, len(f.Objects))
	for i := range f.Objects {
		names[i] = f.Objects[i].name
	}
	return names
}

// Text implements printer.Finding. It writes YAML that can be applied, with everything else in comments. The steps come
// first, because some of them must be done before the objects are applied.
func (f *Finding) Text(w *printer.Writer) {
	if len(f.Objects)+len(f.Left) == 0 {
		printer.Comment(w, "", "Nothing to migrate: there is nothing of "+strings.Join(f.Searched, ", ")+".")
		return
	}
	for i, s := range f.Steps {
		if i == 0 {
			printer.Comment(w, "", "To do by hand, in this order:")
		}
		printer.Comment(w, fmt.Sprintf("%d. ", i+1), s.Text)
		for _, command := range s.Commands {
			w.Line("#      %s", command)
		}
	}
	for i := range f.Objects {
		o := &f.Objects[i]
		if i+len(f.Steps) > 0 {
			w.Line("---")
		}
		printer.Comment(w, "", "From "+o.From)
		for _, note := range o.Notes {
			printer.Comment(w, "- ", note)
		}
		text, err := yaml.Marshal(o.Object)
		if err != nil { // cannot happen: the object was decoded from JSON
			text = fmt.Appendf(nil, "# %v\n", err)
		}
		w.Block(string(text))
	}
	if len(f.Objects) > 0 {
		w.Line("---")
	}
	if len(f.Left) > 0 {
		printer.Comment(w, "", fmt.Sprintf("Left behind: %d", len(f.Left)))
		for _, l := range f.Left {
			at := l.Object
			if l.Place != "" {
				at += " (" + l.Place + ")"
			}
			printer.Comment(w, "- ", at+": "+l.Part)
		}
	} else {
		printer.Comment(w, "", "Nothing is left behind.")
	}
}
