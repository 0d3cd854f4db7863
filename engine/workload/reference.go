package workload

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Names reports whether a reference of an autoscaler names a kind. The HorizontalPodAutoscaler's controller
// and KEDA look the kind up in client-go's REST mapper, which accepts only the kind's name and its name in
// lower case, and no plural.
func Names(reference, kind schema.GroupKind) bool {
	return reference == kind || reference.Group == kind.Group && reference.Kind == strings.ToLower(kind.Kind)
}
