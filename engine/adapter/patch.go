package adapter

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// edit is one place to write. An empty value removes it.
type edit struct {
	tokens []string
	value  string
	field  workload.Field
	made   uint8
	// alone is, where only Flyball has written into containers that it made, the level of the outermost; 0: none.
	alone int
	// listed says that the way goes through a list, which a merge patch would replace as a whole.
	listed bool
	// element is the list element that the way goes through; nil if none.
	element *workload.Element
}

// patch makes the one write that carries out the decisions, and the write to /scale after it. Each write is refused by the
// API server if the object has changed since; only a /scale write that follows another one cannot say since when.
func (v *view) patch(decisions []decision) (*workload.Patch, error) {
	edits, scale := v.edits(decisions)
	ledger, err := v.ledgerText(decisions)
	if err != nil {
		return nil, err
	}
	if len(edits) == 0 && ledger == nil {
		if scale == nil {
			return nil, nil
		}
		return scalePatch(scale.value, v.obj.ResourceVersion)
	}
	p, err := v.write(v.removeEmptied(v.removeMade(edits, decisions)), ledger)
	if err != nil || scale == nil {
		return p, err
	}
	p.Next, err = scalePatch(scale.value, "")
	return p, err
}

// edits are the writes to the object itself, and the one to /scale.
func (v *view) edits(decisions []decision) (edits []edit, scale *decision) {
	for i := range decisions {
		d := &decisions[i]
		switch {
		case !d.write:
			continue
		case d.viaScale:
			scale = d
			continue
		}
		e := edit{tokens: path.Pointer(d.pointer).Tokens(), value: d.value, field: d.field, made: d.made, alone: int(d.alone)}
		switch d.location.kind {
		case inSlot:
			e.listed = v.a.projection.slots[d.location.index].listed
		case inElement:
			e.listed, e.element = true, &v.obj.Elements[d.location.index]
		default: // whether a number is an index is not known
			e.listed = slices.ContainsFunc(e.tokens, func(t string) bool { _, ok := natural(t); return ok })
		}
		edits = append(edits, e)
	}
	return edits, scale
}

// removeMade replaces the removal of fields by that of the outermost container around them that Flyball made, that nobody else has
// written to, and that nothing of Flyball's stays in. What else is in there came with Flyball's write: defaults of the schema, or what
// a webhook adds.
func (v *view) removeMade(edits []edit, decisions []decision) []edit {
	for i := 0; i < len(edits); i++ {
		e := edits[i]
		for level := e.alone; level > 0 && level < len(e.tokens) && e.value == ""; level++ {
			container := e.tokens[:level]
			if staysIn(container, edits, decisions) {
				continue
			}
			edits = slices.DeleteFunc(edits, func(o edit) bool { return startsWith(o.tokens, container) })
			e.tokens, e.alone = container, 0
			e.field = workload.Field{Raw: "{}", Depth: small(level)}
			edits = append(edits, e)
			i = -1
			break
		}
	}
	return edits
}

// staysIn says whether a value is written into a container, or one of Flyball's stays there.
func staysIn(container []string, edits []edit, decisions []decision) bool {
	return slices.ContainsFunc(edits, func(e edit) bool { return e.value != "" && startsWith(e.tokens, container) }) ||
		slices.ContainsFunc(decisions, func(d decision) bool {
			return d.after != nil && startsWith(path.Pointer(d.pointer).Tokens(), container)
		})
}

// removeEmptied replaces the removal of all members of a container that Flyball made by the removal of the container, from
// the inside outwards. It gives the edits that are left.
func (v *view) removeEmptied(edits []edit) []edit {
	for i := 0; i < len(edits); i++ {
		container, ok := v.emptied(edits, &edits[i])
		if !ok {
			continue
		}
		edits = slices.DeleteFunc(edits, func(e edit) bool { return startsWith(e.tokens, container.tokens) })
		edits = append(edits, container)
		i = -1 // the container above may be empty now
	}
	return edits
}

// emptied gives the removal of the container that an edit's field is in. It is false unless Flyball made the container and
// the edits remove all members of it.
func (v *view) emptied(edits []edit, e *edit) (edit, bool) {
	level := len(e.tokens) - 1
	if e.value != "" || e.made == 0 || level < int(e.made) {
		return edit{}, false
	}
	container, removed := e.tokens[:level], 0
	for i := range edits {
		if !startsWith(edits[i].tokens, container) {
			continue
		}
		if edits[i].value != "" || len(edits[i].tokens) != len(e.tokens) {
			return edit{}, false
		}
		removed++
	}
	above := *e
	above.tokens = container
	above.field = workload.Field{Raw: "{}", Depth: small(level)}
	n, known := v.obj.Notes().Members[pointerOf(container)]
	return above, known && n == removed
}

// startsWith says whether the tokens lead into the container at prefix.
func startsWith(tokens, prefix []string) bool {
	return len(tokens) > len(prefix) && slices.Equal(tokens[:len(prefix)], prefix)
}

// write makes the patch of the object: a JSON patch where an edit goes through a list, else a merge patch.
func (v *view) write(edits []edit, ledger *string) (*workload.Patch, error) {
	if slices.ContainsFunc(edits, func(e edit) bool { return e.listed }) {
		body, err := v.jsonPatch(edits, ledger)
		return &workload.Patch{Type: types.JSONPatchType, Body: body}, err
	}
	body, err := v.mergePatch(edits, ledger)
	return &workload.Patch{Type: types.MergePatchType, Body: body}, err
}

// scalePatch writes the count through /scale; a resourceVersion makes it conditional on the object being as it was seen.
func scalePatch(replicas, resourceVersion string) (*workload.Patch, error) {
	body := map[string]any{"spec": map[string]any{"replicas": json.RawMessage(replicas)}}
	if resourceVersion != "" {
		body["metadata"] = map[string]any{"resourceVersion": resourceVersion}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("make a patch of /scale: %w", err)
	}
	return &workload.Patch{Type: types.MergePatchType, Body: text, Subresource: "scale"}, nil
}

// mergePatch renders RFC 7396.
func (v *view) mergePatch(edits []edit, ledger *string) ([]byte, error) {
	root := map[string]any{}
	putInto(root, []string{"metadata", "resourceVersion"}, v.obj.ResourceVersion)
	if ledger != nil {
		var value any // nil removes
		if *ledger != "" {
			value = *ledger
		}
		putInto(root, []string{"metadata", "annotations", v1alpha1.AnnotationLedger}, value)
	}
	for _, e := range edits {
		if e.value == "" {
			putInto(root, e.tokens, nil)
			continue
		}
		putInto(root, e.tokens, merge(e.field.Raw, e.value))
	}
	text, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("make a merge patch: %w", err)
	}
	return text, nil
}

// putInto sets the value at the tokens below root, and makes the objects on the way.
func putInto(root map[string]any, tokens []string, value any) {
	for _, t := range tokens[:len(tokens)-1] {
		inner, ok := root[t].(map[string]any)
		if !ok {
			inner = map[string]any{}
			root[t] = inner
		}
		root = inner
	}
	root[tokens[len(tokens)-1]] = value
}

// merge is the merge patch from one value to another: a merge patch keeps the members of an object that it does not name.
func merge(from, to string) any {
	var old, next map[string]json.RawMessage
	if json.Unmarshal([]byte(from), &old) != nil || json.Unmarshal([]byte(to), &next) != nil {
		return json.RawMessage(to)
	}
	patch := map[string]any{}
	for key, value := range next {
		if was, ok := old[key]; !ok {
			patch[key] = value
		} else if !path.Equal(was, value) {
			patch[key] = merge(string(was), string(value))
		}
	}
	for key := range old {
		if _, ok := next[key]; !ok {
			patch[key] = nil
		}
	}
	return patch
}

// operation is one step of RFC 6902.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// steps are those of a JSON patch.
type steps struct {
	list []operation
	// made are the pointers of the containers that the patch makes.
	made map[string]bool
}

// jsonPatch renders RFC 6902. It tests that the object and the names of the elements are as they were seen.
func (v *view) jsonPatch(edits []edit, ledger *string) ([]byte, error) {
	s := steps{made: map[string]bool{}}
	s.add("test", "/metadata/resourceVersion", quoted(v.obj.ResourceVersion))
	tested := map[string]bool{}
	for _, e := range edits {
		if e.element != nil && e.element.Name != "" && e.element.NamePointer != "" && !tested[e.element.NamePointer] {
			tested[e.element.NamePointer] = true
			s.add("test", e.element.NamePointer, quoted(e.element.Name))
		}
	}
	for i := range edits {
		s.addEdit(&edits[i])
	}
	if ledger != nil {
		s.addLedger(*ledger, len(v.obj.Ledger) > 0 || v.a.annotationsMap != nil && v.current(v.a.annotationsMap).Exists())
	}
	text, err := json.Marshal(s.list)
	if err != nil {
		return nil, fmt.Errorf("make a JSON patch: %w", err)
	}
	return text, nil
}

// add adds a step; an empty value is none.
func (s *steps) add(op, pointer, value string) {
	s.list = append(s.list, operation{op, pointer, json.RawMessage(value)})
}

// addContainer makes an empty object, unless the patch does so already.
func (s *steps) addContainer(pointer string) {
	if !s.made[pointer] {
		s.made[pointer] = true
		s.add("add", pointer, "{}")
	}
}

// addEdit writes one place, after its missing parents.
func (s *steps) addEdit(e *edit) {
	pointer := pointerOf(e.tokens)
	switch {
	case e.value == "":
		s.add("remove", pointer, "")
	case e.field.Exists():
		s.add("replace", pointer, e.value)
	default:
		for level := int(e.field.Depth) + 1; level < len(e.tokens); level++ {
			s.addContainer(pointerOf(e.tokens[:level]))
		}
		s.add("add", pointer, e.value)
	}
}

// addLedger writes the ledger annotation, after the map of annotations if the object has none.
func (s *steps) addLedger(text string, hasAnnotations bool) {
	const annotations = "/metadata/annotations"
	pointer := string(path.Pointer(annotations).Append(v1alpha1.AnnotationLedger))
	if text == "" {
		s.add("remove", pointer, "")
		return
	}
	if !hasAnnotations {
		s.addContainer(annotations)
	}
	s.add("add", pointer, quoted(text))
}
