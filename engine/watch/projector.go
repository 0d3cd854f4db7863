package watch

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// Projector reads from the JSON of one object what is to be kept of it. The raw text is valid during the call only: what is
// kept must be copied out of it. The result belongs to the watch and is immutable from then on; it must carry the name, the
// namespace and the resourceVersion. Objects that came in a list need not say their kind. Calls may come from more than one
// goroutine.
type Projector interface {
	Project(raw []byte) (*workload.Object, error)
}

// maxInterned bounds the texts that a metadata projector shares between objects; label keys and most values are few.
const maxInterned = 4096

// MetadataProjector gives a Projector that keeps an object's metadata only: identity, labels, the controlling owner and
// those annotations that are named. It suits kinds of which no field is read, such as namespaces.
func MetadataProjector(annotationKeys ...string) Projector {
	p := &metadataProjector{
		annotations: make(map[string]struct{}, len(annotationKeys)),
		interned:    make(map[string]string),
	}
	for _, k := range annotationKeys {
		p.annotations[k] = struct{}{}
	}
	return p
}

type metadataProjector struct {
	annotations map[string]struct{}

	mu       sync.Mutex
	interned map[string]string
}

// Project implements Projector.
func (p *metadataProjector) Project(raw []byte) (*workload.Object, error) {
	metadata := gjson.Get(view(raw), "metadata")
	if !metadata.IsObject() {
		return nil, errors.New("project the metadata: there is no .metadata object")
	}
	o := &workload.Object{}
	var err error
	metadata.ForEach(func(key, value gjson.Result) bool {
		err = p.member(o, key.Str, value)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// member takes over one member of the metadata.
func (p *metadataProjector) member(o *workload.Object, key string, value gjson.Result) error {
	switch key {
	case "namespace":
		o.Namespace = p.intern(value.String())
	case "name":
		o.Name = strings.Clone(value.String())
	case "uid":
		o.UID = strings.Clone(value.String())
	case "resourceVersion":
		o.ResourceVersion = strings.Clone(value.String())
	case "generation":
		o.Generation = value.Int()
	case "deletionTimestamp":
		o.Deleting = value.Type != gjson.Null
	case "creationTimestamp":
		if value.Type == gjson.Null {
			return nil
		}
		at, err := time.Parse(time.RFC3339, value.String())
		if err != nil {
			return fmt.Errorf("project .metadata.creationTimestamp: %w", err)
		}
		o.Created = at.Unix()
	case "labels":
		o.Labels = p.pairs(value, nil)
	case "annotations":
		o.Annotations = p.pairs(value, p.annotations)
	case "ownerReferences":
		o.Owner = p.controller(value)
	}
	return nil
}

// pairs reads a map of texts. With a set of wanted keys it keeps those only; nil wants every key.
func (p *metadataProjector) pairs(value gjson.Result, wanted map[string]struct{}) workload.Pairs {
	if !value.IsObject() || (wanted != nil && len(wanted) == 0) {
		return nil
	}
	var found map[string]string
	value.ForEach(func(k, v gjson.Result) bool {
		if _, ok := wanted[k.Str]; wanted != nil && !ok {
			return true
		}
		if found == nil {
			found = make(map[string]string)
		}
		found[p.intern(k.Str)] = p.intern(v.String())
		return true
	})
	return workload.NewPairs(found)
}

// controller finds the owner reference that controls; nil if none does.
func (p *metadataProjector) controller(references gjson.Result) *workload.Owner {
	var owner *workload.Owner
	references.ForEach(func(_, r gjson.Result) bool { // nothing controls where it is null
		if !r.Get("controller").Bool() {
			return true
		}
		group, _, found := strings.Cut(r.Get("apiVersion").String(), "/")
		if !found {
			group = ""
		}
		owner = &workload.Owner{
			GroupKind: schema.GroupKind{Group: p.intern(group), Kind: p.intern(r.Get("kind").String())},
			Name:      strings.Clone(r.Get("name").String()),
		}
		return false
	})
	return owner
}

// intern gives a copy of a text that does not pin the document it came from, shared with every equal text seen before.
func (p *metadataProjector) intern(s string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.interned[s]; ok {
		return known
	}
	s = strings.Clone(s)
	if len(p.interned) < maxInterned {
		p.interned[s] = s
	}
	return s
}

// view reads bytes as a text without copying them. The text must not outlive the bytes; gjson itself would copy each
// document once more.
func view(raw []byte) string {
	return unsafe.String(unsafe.SliceData(raw), len(raw))
}
