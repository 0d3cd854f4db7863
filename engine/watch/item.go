package watch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/workload"
)

// item is a workload.Object that the reflector can hold. Both types have the same memory layout: converting the pointer costs nothing,
// and the store keeps what the projector made.
type item workload.Object

// rejected stands for an object that could not be projected.
type rejected struct {
	metav1.PartialObjectMetadata
	err error
}

// list is one page of a list answer. Its items are *item and *rejected.
type list struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

var (
	_ runtime.Object       = (*list)(nil)
	_ metav1.ListInterface = (*list)(nil)
	_ runtime.Object       = (*item)(nil)
	_ metav1.Object        = (*item)(nil)
	_ runtime.Object       = (*rejected)(nil)
	_ metav1.Object        = (*rejected)(nil)
)

// DeepCopyObject implements runtime.Object.
func (l *list) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = append([]runtime.Object(nil), l.Items...)
	return &c
}

// DeepCopyObject implements runtime.Object. What is below is immutable and stays shared.
func (i *item) DeepCopyObject() runtime.Object { c := *i; return &c }

// GetObjectKind implements runtime.Object: a projection does not say its kind, its watch does.
func (i *item) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// The rest implements metav1.Object, which the reflector asks for names and resourceVersions. What no projection keeps is
// empty. The setters do nothing: an object is immutable once it is made.

func (i *item) GetNamespace() string                          { return i.Namespace }
func (i *item) GetName() string                               { return i.Name }
func (i *item) GetGenerateName() string                       { return "" }
func (i *item) GetUID() types.UID                             { return types.UID(i.UID) }
func (i *item) GetResourceVersion() string                    { return i.ResourceVersion }
func (i *item) GetGeneration() int64                          { return i.Generation }
func (i *item) GetSelfLink() string                           { return "" }
func (i *item) GetCreationTimestamp() metav1.Time             { return metav1.Unix(i.Created, 0) }
func (i *item) GetDeletionTimestamp() *metav1.Time            { return nil }
func (i *item) GetDeletionGracePeriodSeconds() *int64         { return nil }
func (i *item) GetLabels() map[string]string                  { return asMap(i.Labels) }
func (i *item) GetAnnotations() map[string]string             { return asMap(i.Annotations) }
func (i *item) GetFinalizers() []string                       { return nil }
func (i *item) GetOwnerReferences() []metav1.OwnerReference   { return nil }
func (i *item) GetManagedFields() []metav1.ManagedFieldsEntry { return nil }

func (i *item) SetNamespace(string)                          {}
func (i *item) SetName(string)                               {}
func (i *item) SetGenerateName(string)                       {}
func (i *item) SetUID(types.UID)                             {}
func (i *item) SetResourceVersion(string)                    {}
func (i *item) SetGeneration(int64)                          {}
func (i *item) SetSelfLink(string)                           {}
func (i *item) SetCreationTimestamp(metav1.Time)             {}
func (i *item) SetDeletionTimestamp(*metav1.Time)            {}
func (i *item) SetDeletionGracePeriodSeconds(*int64)         {}
func (i *item) SetLabels(map[string]string)                  {}
func (i *item) SetAnnotations(map[string]string)             {}
func (i *item) SetFinalizers([]string)                       {}
func (i *item) SetOwnerReferences([]metav1.OwnerReference)   {}
func (i *item) SetManagedFields([]metav1.ManagedFieldsEntry) {}

func asMap(p workload.Pairs) map[string]string {
	if len(p) == 0 {
		return nil
	}
	m := make(map[string]string, len(p))
	for _, pair := range p {
		m[pair.Key] = pair.Value
	}
	return m
}
