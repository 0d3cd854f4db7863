package ledger

import (
	"fmt"
	"strings"

	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// UnclearFault returns a sentence about the first entry with an unclear field, and the command that drops the entry; ""
// if no entry is unclear.
func (v *View) UnclearFault() string {
	for i := range v.Entries {
		l := &v.Entries[i]
		if l.State != FieldUnclear {
			continue
		}
		problem := l.Entry.Pointer + " is not in the object any more"
		switch {
		case l.Location.Kind == projection.Unclear && l.Entry.Element != "":
			problem = fmt.Sprintf("the list of %s does not have exactly one element %s any more", l.Entry.Pointer, l.Entry.Element)
		case l.Location.Kind == projection.Unclear:
			problem = fmt.Sprintf("the list of %s has another length: the element was %s", l.Entry.Pointer, l.Entry.Place)
		}
		return fmt.Sprintf("%s, so its original is kept: it was %s before it was set to %s. Put it back as it was, or set the value "+
			"yourself and run: %s",
			problem, path.Brief(l.Entry.Original()), path.Brief(l.Entry.Set), v.forgetCommand())
	}
	return ""
}

// maxCommand bounds a command in a message, in bytes.
const maxCommand = 600

// forgetCommand returns the command that removes the unclear entries from the ledger and keeps the others.
func (v *View) forgetCommand() string {
	var kept workload.Ledger
	for i := range v.Entries {
		if v.Entries[i].State != FieldUnclear {
			kept = append(kept, *v.Entries[i].stored)
		}
	}
	object := strings.ToLower(v.Spec.GroupKind().String()) + " " + v.Object.Name
	if v.Object.Namespace != "" {
		object += " -n " + v.Object.Namespace
	}
	if len(kept) == 0 {
		return "kubectl annotate " + object + " flyball.dev/ledger-"
	}
	text, err := kept.Encode(v.origin())
	command := fmt.Sprintf("kubectl annotate --overwrite %s flyball.dev/ledger='%s'", object, text)
	if err != nil || len(command) > maxCommand || strings.Contains(text, "'") {
		return "kubectl edit " + object + " and take the entries of this list out of the annotation flyball.dev/ledger"
	}
	return command
}
