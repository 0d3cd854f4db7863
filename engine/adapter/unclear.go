package adapter

import (
	"fmt"
	"strings"

	"flyball.dev/flyball/engine/workload"
)

// unclearFault returns a sentence about the first entry with an unclear field, and the command that drops the entry; ""
// if no entry is unclear.
func (v *view) unclearFault() string {
	for i := range v.entries {
		l := &v.entries[i]
		if l.state != fieldUnclear {
			continue
		}
		problem := l.entry.Pointer + " is not in the object any more"
		switch {
		case l.location.kind == unclear && l.entry.Element != "":
			problem = fmt.Sprintf("the list of %s does not have exactly one element %s any more", l.entry.Pointer, l.entry.Element)
		case l.location.kind == unclear:
			problem = fmt.Sprintf("the list of %s has another length: the element was %s", l.entry.Pointer, l.entry.Place)
		}
		return fmt.Sprintf("%s, so its original is kept: it was %s before it was set to %s. Put it back as it was, or set the value "+
			"yourself and run: %s",
			problem, brief(l.entry.Original()), brief(l.entry.Set), v.forgetCommand())
	}
	return ""
}

// maxCommand bounds a command in a message, in bytes.
const maxCommand = 600

// forgetCommand returns the command that removes the unclear entries from the ledger and keeps the others.
func (v *view) forgetCommand() string {
	var kept workload.Ledger
	for i := range v.entries {
		if v.entries[i].state != fieldUnclear {
			kept = append(kept, *v.entries[i].stored)
		}
	}
	object := strings.ToLower(v.a.gk.String()) + " " + v.obj.Name
	if v.obj.Namespace != "" {
		object += " -n " + v.obj.Namespace
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
