package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"flyball.dev/flyball/engine/path/rawjson"
)

// negotiator gives client-go the decoders of a projection. It accepts only JSON, because the projector reads JSON, even
// if client-go prefers other formats.
type negotiator struct {
	projector Projector
	// received is called with every decoded event of a stream before the reflector gets it.
	received func(watch.EventType, runtime.Object)
}

// Encoder implements runtime.ClientNegotiator; nothing is ever sent.
func (n *negotiator) Encoder(contentType string, _ map[string]string) (runtime.Encoder, error) {
	return nil, runtime.NegotiateError{ContentType: contentType}
}

// Decoder implements runtime.ClientNegotiator, for answers of one document.
func (n *negotiator) Decoder(contentType string, _ map[string]string) (runtime.Decoder, error) {
	if !isJSON(contentType) {
		return nil, runtime.NegotiateError{ContentType: contentType}
	}
	return document{n.projector}, nil
}

// StreamDecoder implements runtime.ClientNegotiator, for watches. The two decoders of a stream work together. The first
// decoder reads the frame, and the second decoder reads the object in the frame. The object's type depends on the
// frame's type.
func (n *negotiator) StreamDecoder(contentType string, _ map[string]string) (
	runtime.Decoder, runtime.Serializer, runtime.Framer, error,
) {
	if !isJSON(contentType) {
		return nil, nil, nil, runtime.NegotiateError{ContentType: contentType, Stream: true}
	}
	f := &frame{}
	return &event{frame: f, projector: n.projector, received: n.received}, f, jsonFramer{}, nil
}

func isJSON(contentType string) bool {
	return contentType == "" || contentType == runtime.ContentTypeJSON
}

type jsonFramer struct{}

// NewFrameReader implements runtime.Framer.
func (jsonFramer) NewFrameReader(r io.ReadCloser) io.ReadCloser { return newFrames(r) }

// NewFrameWriter implements runtime.Framer; nothing is ever sent.
func (jsonFramer) NewFrameWriter(w io.Writer) io.Writer { return w }

// frame decodes the WatchEvent around an object and leaves the object raw. The object's bytes alias the stream's
// buffer: they are decoded before the next frame is read, and not kept.
type frame struct {
	kind watch.EventType
}

// Decode implements runtime.Decoder.
func (f *frame) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (
	runtime.Object, *schema.GroupVersionKind, error,
) {
	e, ok := into.(*metav1.WatchEvent)
	if !ok {
		return nil, nil, fmt.Errorf("decode a watch frame: cannot decode into %T", into)
	}
	if kind, object, ok := plainEvent(data); ok {
		e.Type, e.Object.Raw, f.kind = string(kind), object, kind
		return e, nil, nil
	}
	text := view(data)
	object := rawjson.Get(text, "object")
	if !object.IsObject() {
		return nil, nil, errors.New("decode a watch frame: it has no object")
	}
	e.Type = strings.Clone(rawjson.Get(text, "type").String())
	e.Object.Raw = data[object.Index : object.Index+len(object.Raw)]
	f.kind = watch.EventType(e.Type)
	return e, nil, nil
}

// plainEvent splits an event in the usual form of API servers: the type, then the object, and nothing else. It does not
// parse the object: the frame reader has scanned it, and the projector parses it.
func plainEvent(data []byte) (kind watch.EventType, object []byte, ok bool) {
	const opening, between, closing = `{"type":"`, `","object":`, "}"
	text := view(data)
	if !strings.HasPrefix(text, opening) || !strings.HasSuffix(text, closing) {
		return "", nil, false
	}
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		rest, is := strings.CutPrefix(text[len(opening):], string(kind))
		if !is || !strings.HasPrefix(rest, between+"{") {
			continue
		}
		object = data[len(opening)+len(kind)+len(between) : len(data)-len(closing)]
		object = bytes.TrimRight(object, " \n")
		return kind, object, bytes.HasSuffix(object, []byte("}"))
	}
	return "", nil, false
}

// Encode implements runtime.Encoder; nothing is ever sent.
func (f *frame) Encode(runtime.Object, io.Writer) error {
	return errors.New("encode a watch frame: a watch does not write")
}

// Identifier implements runtime.Encoder.
func (f *frame) Identifier() runtime.Identifier { return "flyball-watch-frame" }

// event decodes the object of a watch frame.
type event struct {
	frame     *frame
	projector Projector
	received  func(watch.EventType, runtime.Object)
}

// Decode implements runtime.Decoder.
func (e *event) Decode(raw []byte, _ *schema.GroupVersionKind, _ runtime.Object) (
	runtime.Object, *schema.GroupVersionKind, error,
) {
	object, err := e.object(raw)
	if err != nil {
		return nil, nil, err
	}
	e.received(e.frame.kind, object)
	return object, &schema.GroupVersionKind{}, nil
}

func (e *event) object(raw []byte) (runtime.Object, error) {
	switch e.frame.kind {
	case watch.Error:
		return decodeAs("Status", raw, &metav1.Status{})
	case watch.Bookmark:
		return decodeAs("bookmark", raw, &metav1.PartialObjectMetadata{})
	default:
		return project(e.projector, raw), nil
	}
}

// document decodes an answer of one document: a list, or the Status of an error.
type document struct {
	projector Projector
}

// Decode implements runtime.Decoder.
func (d document) Decode(raw []byte, _ *schema.GroupVersionKind, into runtime.Object) (
	runtime.Object, *schema.GroupVersionKind, error,
) {
	l, ok := into.(*list)
	if !ok || isStatus(raw) {
		status, err := decodeAs("Status", raw, &metav1.Status{})
		return status, &schema.GroupVersionKind{Version: "v1", Kind: "Status"}, err
	}
	if err := d.list(raw, l); err != nil {
		return nil, nil, fmt.Errorf("decode a list: %w", err)
	}
	return l, &schema.GroupVersionKind{}, nil
}

// list passes the items of a list to the projector one by one, out of the answer's text.
func (d document) list(raw []byte, l *list) error {
	text := view(raw)
	// rawjson does not validate. Without this check a truncated answer would look like a cluster with fewer objects.
	if !rawjson.Valid(text) {
		return errors.New("the answer is not valid JSON")
	}
	if err := json.Unmarshal([]byte(rawjson.Get(text, "metadata").Raw), &l.ListMeta); err != nil {
		return fmt.Errorf("field metadata: %w", err)
	}
	items := rawjson.Get(text, "items")
	if !items.IsArray() && items.Raw != "null" {
		return errors.New("field items: the answer has no list of items")
	}
	items.ForEach(func(_, value rawjson.Value) bool {
		if value.IsObject() {
			l.Items = append(l.Items, project(d.projector, raw[value.Index:value.Index+len(value.Raw)]))
		}
		return true
	})
	return nil
}

// project returns an *item, or a *rejected if the object cannot be projected. It never fails, so all
// objects get through.
func project(p Projector, raw []byte) runtime.Object {
	o, err := p.Project(raw)
	if err == nil && o != nil && o.Name != "" && o.ResourceVersion != "" {
		return (*item)(o)
	}
	if err == nil {
		err = errors.New("the projection has no name or no resourceVersion")
	}
	text := view(raw)
	r := &rejected{err: err}
	r.Namespace = strings.Clone(rawjson.Get(text, "metadata.namespace").String())
	r.Name = strings.Clone(rawjson.Get(text, "metadata.name").String())
	r.ResourceVersion = strings.Clone(rawjson.Get(text, "metadata.resourceVersion").String())
	return r
}

func isStatus(raw []byte) bool {
	text := view(raw)
	return rawjson.Get(text, "kind").String() == "Status" && rawjson.Get(text, "apiVersion").String() == "v1"
}

// decodeAs reads a Status or a bookmark: an object with a resourceVersion and perhaps annotations. what names the text
// in the error.
func decodeAs(what string, raw []byte, into runtime.Object) (runtime.Object, error) {
	if err := json.Unmarshal(raw, into); err != nil {
		return nil, fmt.Errorf("decode a %s: %w", what, err)
	}
	return into, nil
}
