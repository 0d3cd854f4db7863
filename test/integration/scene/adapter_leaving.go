package scene

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Read returns an empty Adapter with the name of another one, for reading the stored Adapter.
func Read(a *v1alpha1.Adapter) *v1alpha1.Adapter {
	return &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: a.Name}}
}
