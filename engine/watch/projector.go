package watch

import (
	"unsafe"

	"flyball.dev/flyball/engine/workload"
)

// Projector reads from the JSON of one object what is to be kept of it. The raw text is valid during the call only: what is
// kept must be copied out of it. The result belongs to the watch and is immutable from then on; it must carry the name, the
// namespace and the resourceVersion. Objects that came in a list need not say their kind. Calls may come from more than one
// goroutine.
type Projector interface {
	Project(raw []byte) (*workload.Object, error)
}

// MetadataProjector gives a Projector that keeps an object's metadata only: identity, labels, the controlling owner and
// those annotations that are named. It suits kinds of which no field is read, such as namespaces.
func MetadataProjector(annotationKeys ...string) Projector {
	return workload.NewMetadata(workload.NewInterner(), annotationKeys...)
}

// view reads bytes as a text without copying them. The text must not outlive the bytes; gjson itself would copy each
// document once more.
func view(raw []byte) string {
	return unsafe.String(unsafe.SliceData(raw), len(raw))
}
