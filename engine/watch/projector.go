package watch

import (
	"unsafe"

	"flyball.dev/flyball/engine/workload"
)

// Projector reads the kept fields of an object from its JSON. The raw text is valid only during the call, so kept
// texts must be copied. The result belongs to the watch and is immutable; it must have the name, the namespace and the
// resourceVersion. Objects from a list may lack their kind. Calls may come from several goroutines.
type Projector interface {
	Project(raw []byte) (*workload.Object, error)
}

// MetadataProjector returns a Projector that keeps only an object's metadata: identity, labels, the controlling owner
// and the named annotations. It suits kinds without further used fields, for example namespaces.
func MetadataProjector(annotationKeys ...string) Projector {
	return workload.NewMetadata(workload.NewInterner(), annotationKeys...)
}

// view reads bytes as a text without copying. The text must not outlive the bytes. rawjson itself would copy each
// document once more.
func view(raw []byte) string {
	return unsafe.String(unsafe.SliceData(raw), len(raw))
}
