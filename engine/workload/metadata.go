package workload

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
)

// Metadata reads the .metadata of objects: identity, labels, the controlling owner, and the annotations of some keys.
// It is immutable and safe for concurrent use.
type Metadata struct {
	keys     []string
	interner *Interner
	paths    []path.Path
	set      *path.Set
}

// metadataFields are the members of .metadata to read, with their readers.
var metadataFields = []struct {
	name string
	read func(*MetadataReading, path.Match) error
}{
	{"name", func(r *MetadataReading, m path.Match) (err error) { r.name, err = Text(m); return err }},
	{"namespace", func(r *MetadataReading, m path.Match) (err error) { r.namespace, err = Text(m); return err }},
	{"uid", func(r *MetadataReading, m path.Match) (err error) { r.uid, err = Text(m); return err }},
	{"resourceVersion", func(r *MetadataReading, m path.Match) (err error) { r.version, err = Text(m); return err }},
	{"generation", func(r *MetadataReading, m path.Match) (err error) {
		r.Object.Generation, err = m.Value().Int64()
		return err
	}},
	{"creationTimestamp", func(r *MetadataReading, m path.Match) (err error) { r.Object.Created, err = seconds(m); return err }},
	{"deletionTimestamp", func(r *MetadataReading, _ path.Match) error { r.Object.Deleting = true; return nil }},
	{"labels", func(r *MetadataReading, m path.Match) error { r.Object.Labels = r.pairs(m.Raw); return nil }},
	{"ownerReferences", func(r *MetadataReading, m path.Match) error {
		r.Object.OwnerReference = r.controller(m.Raw)
		return nil
	}},
}

// NewMetadata returns a reader that keeps the annotations of the given keys and shares texts through the Interner.
func NewMetadata(interner *Interner, annotationKeys ...string) *Metadata {
	keys := slices.Compact(slices.Sorted(slices.Values(annotationKeys)))
	m := &Metadata{keys: keys, interner: interner}
	metadata := path.Path{}.Field("metadata")
	for _, f := range metadataFields {
		m.paths = append(m.paths, metadata.Field(f.name))
	}
	for _, key := range keys {
		m.paths = append(m.paths, metadata.Field("annotations").Field(key))
	}
	m.set = path.NewSet(m.paths...)
	return m
}

// Paths returns the paths needed by a reading. A caller can put them together with further paths into one set, so that
// the object is walked once.
func (m *Metadata) Paths() []path.Path { return slices.Clone(m.paths) }

// Project reads only the metadata of one raw JSON object. Together with an error it returns the readable part. The
// result does not alias raw.
func (m *Metadata) Project(raw []byte) (*Object, error) {
	r := m.Read()
	if err := m.set.Extract(raw, r.Take); err != nil {
		return r.Object, fmt.Errorf("project the metadata: %w", err)
	}
	err := r.Finish()
	if err == nil && r.Object.Name == "" {
		err = errors.New("there is no .metadata object with a name")
	}
	if err != nil {
		return r.Object, fmt.Errorf("project the metadata: %w", err)
	}
	return r.Object, nil
}

// MetadataReading is the state of reading one object's metadata during the walk over the object.
type MetadataReading struct {
	// Object is the result. Its identity is set by Finish.
	Object *Object

	metadata                      *Metadata
	name, namespace, uid, version []byte // alias the document
	err                           error
}

// Read begins to read an object.
func (m *Metadata) Read() MetadataReading { return MetadataReading{Object: &Object{}, metadata: m} }

// Take reads the match of the path with the given index in Paths. Absent and null values are skipped.
func (r *MetadataReading) Take(i int, m path.Match) {
	if !m.Exists() || m.Type() == path.Null {
		return
	}
	var err error
	if i < len(metadataFields) {
		err = metadataFields[i].read(r, m)
	} else {
		var value []byte
		value, err = Text(m)
		r.Object.Annotations = append(r.Object.Annotations, Pair{r.metadata.keys[i-len(metadataFields)], r.metadata.interner.Bytes(value)})
	}
	r.err = cmp.Or(r.err, err)
}

// Finish copies the identity out of the document. It returns the error of the first value with a wrong type.
func (r *MetadataReading) Finish() error {
	// The object's own strings share one allocation; the namespace is shared with other objects.
	n, u := len(r.name), len(r.name)+len(r.uid)
	own := string(append(append(append(make([]byte, 0, u+len(r.version)), r.name...), r.uid...), r.version...))
	r.Object.Name, r.Object.UID, r.Object.ResourceVersion = own[:n], own[n:u], own[u:]
	r.Object.Namespace = r.metadata.interner.Bytes(r.namespace)
	sortPairs(r.Object.Annotations)
	return r.err
}

// pairs reads a JSON object of texts.
func (r *MetadataReading) pairs(raw []byte) Pairs {
	object := rawjson.ParseBytes(raw)
	n := 0
	object.ForEach(func(_, _ rawjson.Value) bool { n++; return true })
	pairs := make(Pairs, 0, n)
	object.ForEach(func(k, v rawjson.Value) bool {
		pairs = append(pairs, Pair{r.metadata.interner.String(k.Str), r.metadata.interner.String(v.Str)})
		return true
	})
	sortPairs(pairs)
	return pairs
}

// controller returns the owner reference with controller: true; nil: none.
func (r *MetadataReading) controller(raw []byte) *OwnerReference {
	var owner *OwnerReference
	in := r.metadata.interner
	rawjson.ParseBytes(raw).ForEach(func(_, ref rawjson.Value) bool {
		gv, err := schema.ParseGroupVersion(ref.Get("apiVersion").Str)
		if ref.Get("controller").Type != rawjson.True || err != nil {
			return true
		}
		owner = &OwnerReference{GroupKind: schema.GroupKind{Group: in.String(gv.Group), Kind: in.String(ref.Get("kind").Str)},
			Name: in.String(ref.Get("name").Str)}
		return false
	})
	return owner
}

// Text returns the bytes of a JSON string, without its quotes and escapes. A string without escapes aliases
// the document. A value of a different type is an error.
func Text(m path.Match) ([]byte, error) {
	if m.Type() == path.String && !bytes.ContainsRune(m.Raw, '\\') {
		return m.Raw[1 : len(m.Raw)-1], nil
	}
	s, err := m.Value().Text()
	return []byte(s), err
}

// seconds reads an RFC 3339 instant as seconds since 1970.
func seconds(m path.Match) (int64, error) {
	value, err := Text(m)
	if err != nil {
		return 0, err
	}
	t, err := time.Parse(time.RFC3339, string(value))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", m.Path(), err)
	}
	return t.Unix(), nil
}
