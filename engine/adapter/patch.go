package adapter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/ledger"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// edit is one place to write. An empty value removes it; the value null writes a null.
type edit struct {
	tokens []string
	value  string
	field  workload.Field
	// made is the number of tokens of the outermost container that Flyball made for the field. alone is the number of
	// tokens of the outermost such container without content of foreign writers. 0: there is no such container.
	made  uint8
	alone int
	// listed is true if the place is inside a list, which a merge patch would replace as a whole.
	listed bool
	// element is the list element that contains the place, or nil.
	element *workload.Element
}

// patch returns the write that carries out the decisions, and the write to /scale after it. The API server refuses a
// write if the object has changed since. Only a write to /scale that follows another write is not checked in this way.
func (v renderer) patch(decisions []ledger.Decision) (*workload.Patch, error) {
	edits, scale := v.edits(decisions)
	ledger, err := v.LedgerText(decisions)
	if err != nil {
		return nil, err
	}
	if len(edits) == 0 && ledger == nil {
		if scale == nil {
			return nil, nil
		}
		return v.scalePatch(scale.Value, v.Object.ResourceVersion)
	}
	widenRemovalsIn(edits, decisions)
	p, err := v.objectPatch(v.removeEmptied(edits), ledger)
	if err != nil || scale == nil {
		return p, err
	}
	p.Next, err = v.scalePatch(scale.Value, "")
	return p, err
}

// edits returns the writes to the object itself, and the decision that is written to /scale; nil: none.
func (v renderer) edits(decisions []ledger.Decision) (edits []edit, scale *ledger.Decision) {
	for i := range decisions {
		d := &decisions[i]
		switch {
		case !d.Write:
			continue
		case d.ViaScale:
			scale = d
			continue
		}
		e := edit{tokens: path.Pointer(d.Pointer).Tokens(), value: d.Value, field: d.Field, made: d.Made, alone: int(d.Alone)}
		if d.ToNull {
			e.value = "null"
		}
		switch d.Location.Kind {
		case projection.InSlot:
			e.listed = v.Spec.Projection.Slots[d.Location.Index].Listed
		case projection.InElement:
			e.listed, e.element = true, &v.Object.Elements[d.Location.Index]
		default: // it is unknown whether a number is an index
			e.listed = slices.ContainsFunc(e.tokens, func(t string) bool { _, ok := path.Natural(t); return ok })
		}
		edits = append(edits, e)
	}
	return edits, scale
}

// ledgerMap is the pointer of the map of annotations, which contains the ledger.
const ledgerMap = "/metadata/annotations"

// widenRemovalsIn changes the edits: the removal of a field becomes the removal of a container around it. This is the
// outermost container that Flyball made and that has neither content of foreign writers nor remaining values of Flyball.
// The rest of its content came with Flyball's write: defaults of the schema, or additions of a webhook.
func widenRemovalsIn(edits []edit, decisions []ledger.Decision) {
	if !slices.ContainsFunc(edits, func(e edit) bool { return e.value == "" && e.alone > 0 }) {
		return
	}
	stays := staying(edits, decisions)
	for i := range edits {
		e := &edits[i]
		for depth := e.alone; e.value == "" && depth > 0 && depth < len(e.tokens); depth++ {
			if !stays[path.Pointer(path.PointerOf(e.tokens[:depth]))] {
				e.widenTo(depth)
				break
			}
		}
	}
}

// widenTo replaces the removal of a field by the removal of the container around it whose pointer has depth tokens.
func (e *edit) widenTo(depth int) {
	e.tokens, e.field = e.tokens[:depth], workload.Field{Raw: "{}", Depth: projection.Small(depth)}
}

// staying returns the containers that must stay. Such a container gets a value, or has a value that Flyball has set, or
// has a value that a policy leaves to the owner. The map of annotations always stays, because the ledger is written
// into the map separately. The API server drops the map once it is empty.
func staying(edits []edit, decisions []ledger.Decision) map[path.Pointer]bool {
	stays := map[path.Pointer]bool{ledgerMap: true}
	for i := range edits {
		if e := &edits[i]; e.value != "" {
			addContainers(stays, e.pointer())
		}
	}
	for i := range decisions {
		if d := &decisions[i]; d.After != nil || d.Result() != "" {
			addContainers(stays, path.Pointer(d.Pointer))
		}
	}
	return stays
}

// addContainers adds to all the pointers of the JSON objects and lists around a place, from the inside outwards. In this
// file a container is a JSON object or list, not a container of a pod.
func addContainers(all map[path.Pointer]bool, p path.Pointer) {
	for p = p.Parent(); p != "" && !all[p]; p = p.Parent() {
		all[p] = true
	}
}

// pointer returns the pointer of the place.
func (e *edit) pointer() path.Pointer { return path.Pointer(path.PointerOf(e.tokens)) }

// outermost removes the edits inside other edits. For each place it keeps only the first edit.
func outermost(edits []edit) []edit {
	places := map[path.Pointer]bool{}
	for i := range edits {
		places[edits[i].pointer()] = true
	}
	var left []edit
	for _, e := range edits {
		p := e.pointer()
		isFirst := places[p]
		for in := p.Parent(); in != "" && isFirst; in = in.Parent() {
			_, around := places[in]
			isFirst = !around
		}
		if isFirst {
			left = append(left, e)
			places[p] = false // the place stays listed, but its next edit is not the first
		}
	}
	return left
}

// removeEmptied replaces the removals of all members of a container that Flyball made by the removal of the container,
// from the inside outwards. It returns the remaining edits.
func (v renderer) removeEmptied(edits []edit) []edit {
	if len(edits) == 1 && (edits[0].value != "" || edits[0].made == 0) {
		return edits // the common case
	}
	for widened := true; widened; {
		edits = outermost(edits)
		// removed counts, for each JSON object, its directly removed members. touched has the JSON objects in which a
		// member is set, or in which something is changed at a deeper level.
		removed, touched := map[path.Pointer]int{}, map[path.Pointer]bool{ledgerMap: true}
		for i := range edits {
			p := edits[i].pointer()
			if edits[i].value == "" {
				removed[p.Parent()]++
				p = p.Parent()
			}
			addContainers(touched, p)
		}
		widened = false
		for i := range edits {
			e := &edits[i]
			container := e.pointer().Parent()
			n, known := v.Object.Notes().Members[string(container)]
			if depth := len(e.tokens) - 1; e.value == "" && e.made > 0 && depth >= int(e.made) && known && n == removed[container] &&
				!touched[container] {
				e.widenTo(depth)
				widened = true
			}
		}
	}
	return edits
}

// objectPatch returns the patch of the object: a JSON patch if an edit goes through a list, or restores a value that a
// merge patch cannot write, else a merge patch. A restored object has a ledger, so its map of annotations exists.
func (v renderer) objectPatch(edits []edit, ledger *string) (p *workload.Patch, err error) {
	if slices.ContainsFunc(edits, func(e edit) bool { return e.listed || e.value == "null" || hasInnerNull(e.value) }) {
		p = &workload.Patch{Type: types.JSONPatchType}
		p.Body, err = v.jsonPatch(edits, ledger)
	} else {
		p = &workload.Patch{Type: types.MergePatchType}
		p.Body, err = v.mergePatch(edits, ledger)
	}
	if ledger != nil {
		p.Keeps = &workload.Kept{Key: v1alpha1.AnnotationLedger, Value: *ledger}
	}
	return p, err
}

// hasInnerNull reports whether the value is an object with a null member, at any depth. It does not look into arrays.
func hasInnerNull(value string) bool {
	if !strings.Contains(value, "null") {
		return false // most values are numbers
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(value), &members) != nil {
		return false
	}
	for _, m := range members {
		if string(m) == "null" || hasInnerNull(string(m)) {
			return true
		}
	}
	return false
}

// scalePatch returns the write of the count through /scale; with a resourceVersion it fails if the object has changed.
func (v renderer) scalePatch(replicas, resourceVersion string) (*workload.Patch, error) {
	body := map[string]any{"spec": map[string]any{"replicas": json.RawMessage(replicas)}}
	if resourceVersion != "" {
		body["metadata"] = map[string]any{"resourceVersion": resourceVersion}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("make a patch of /scale: %w", err)
	}
	return &workload.Patch{Type: types.MergePatchType, Body: text, Subresource: "scale", Counts: v.Spec.Counts()}, nil
}

// mergePatch returns an RFC 7396 patch.
func (v renderer) mergePatch(edits []edit, ledger *string) ([]byte, error) {
	root := put(nil, []string{"metadata", "resourceVersion"}, path.Quote(v.Object.ResourceVersion))
	if ledger != nil {
		value := "null" // removes
		if *ledger != "" {
			value = path.Quote(*ledger)
		}
		root = put(root, []string{"metadata", "annotations", v1alpha1.AnnotationLedger}, value)
	}
	for _, e := range edits {
		value, err := "null", error(nil)
		if e.value != "" {
			value, err = merge(e.field.Raw, e.value)
		}
		if err != nil {
			return nil, fmt.Errorf("make a merge patch: %w", err)
		}
		root = put(root, e.tokens, value)
	}
	room := 256
	if ledger != nil {
		room += 2 * len(*ledger)
	}
	return appendObject(make([]byte, 0, room), root), nil
}

// member is a member of an object: JSON text, or an object if raw is empty.
type member struct {
	key, raw string
	inner    []member
}

// put sets the value at the tokens below an object, and makes the objects on the way. It returns the changed object. Lists of members
// cost a fraction of maps, and a plan makes thousands of patches.
func put(object []member, tokens []string, raw string) []member {
	i := slices.IndexFunc(object, func(m member) bool { return m.key == tokens[0] })
	if i < 0 {
		i, object = len(object), append(object, member{key: tokens[0]})
	}
	if len(tokens) == 1 {
		object[i].raw, object[i].inner = raw, nil
		return object
	}
	object[i].raw, object[i].inner = "", put(object[i].inner, tokens[1:], raw)
	return object
}

// appendObject appends the JSON text of an object, in the order of its keys.
func appendObject(out []byte, object []member) []byte {
	slices.SortFunc(object, func(a, b member) int { return strings.Compare(a.key, b.key) })
	out = append(out, '{')
	for i := range object {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(path.AppendQuoted(out, object[i].key), ':')
		if object[i].raw != "" {
			out = append(out, object[i].raw...)
			continue
		}
		out = appendObject(out, object[i].inner)
	}
	return append(out, '}')
}

// merge returns the merge patch that turns one value into another. It names the members to remove, because a merge patch
// keeps all members that it does not name.
func merge(from, to string) (string, error) {
	if !strings.HasPrefix(from, "{") || !strings.HasPrefix(to, "{") {
		return to, nil
	}
	text, err := json.Marshal(mergeObjects(from, to))
	return string(text), err
}

func mergeObjects(from, to string) any {
	var old, next map[string]json.RawMessage
	if json.Unmarshal([]byte(from), &old) != nil || json.Unmarshal([]byte(to), &next) != nil {
		return json.RawMessage(to)
	}
	patch := map[string]any{}
	for key, value := range next {
		if was, ok := old[key]; !ok {
			patch[key] = value
		} else if !path.Equal(was, value) {
			patch[key] = mergeObjects(string(was), string(value))
		}
	}
	for key := range old {
		if _, ok := next[key]; !ok {
			patch[key] = nil
		}
	}
	return patch
}

// operation is a step of RFC 6902.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// steps are the steps of a JSON patch.
type steps struct {
	list []operation
	// made are the pointers of the containers that the patch makes.
	made map[string]bool
}

// jsonPatch returns an RFC 6902 patch. It tests that the object and the names of the elements are unchanged.
func (v renderer) jsonPatch(edits []edit, ledger *string) ([]byte, error) {
	s := steps{made: map[string]bool{}}
	s.add("test", "/metadata/resourceVersion", path.Quote(v.Object.ResourceVersion))
	tested := map[string]bool{}
	for _, e := range edits {
		if e.element != nil && e.element.Name != "" && e.element.NamePointer != "" && !tested[e.element.NamePointer] {
			tested[e.element.NamePointer] = true
			s.add("test", e.element.NamePointer, path.Quote(e.element.Name))
		}
	}
	for i := range edits {
		s.addEdit(&edits[i])
	}
	if ledger != nil {
		s.addLedger(*ledger, len(v.Object.Ledger) > 0 || v.Spec.AnnotationsMap != nil && v.Current(v.Spec.AnnotationsMap).Exists())
	}
	text, err := json.Marshal(s.list)
	if err != nil {
		return nil, fmt.Errorf("make a JSON patch: %w", err)
	}
	return text, nil
}

// add adds a step. If the value is empty, the step has no value.
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
	pointer := path.PointerOf(e.tokens)
	switch {
	case e.value == "":
		s.add("remove", pointer, "")
	case e.field.Exists():
		s.add("replace", pointer, e.value)
	default:
		for depth := int(e.field.Depth) + 1; depth < len(e.tokens); depth++ {
			s.addContainer(path.PointerOf(e.tokens[:depth]))
		}
		s.add("add", pointer, e.value)
	}
}

// addLedger writes the ledger annotation, after the map of annotations if the object has none.
func (s *steps) addLedger(text string, hasAnnotations bool) {
	pointer := string(path.Pointer(ledgerMap).Append(v1alpha1.AnnotationLedger))
	if text == "" {
		s.add("remove", pointer, "")
		return
	}
	if !hasAnnotations {
		s.addContainer(ledgerMap)
	}
	s.add("add", pointer, path.Quote(text))
}
