package watch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/workload"
)

// item is a workload.Object that the reflector can hold. Both types have the same memory layout: converting the pointer
// costs nothing, and the store keeps the projector's object.
type item workload.Object

// rejected stands for an object that could not be projected.
type rejected struct {
	metav1.PartialObjectMetadata
	err error
}

// list is a page of a list answer. The items are *item and *rejected.
type list struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

var (
	_ runtime.Object            = (*list)(nil)
	_ metav1.ListInterface      = (*list)(nil)
	_ runtime.Object            = (*item)(nil)
	_ metav1.ObjectMetaAccessor = (*item)(nil)
	_ runtime.Object            = (*rejected)(nil)
	_ metav1.Object             = (*rejected)(nil)
)

// DeepCopyObject implements runtime.Object.
func (l *list) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = append([]runtime.Object(nil), l.Items...)
	return &c
}

// DeepCopyObject implements runtime.Object. Nested values are immutable and stay shared.
func (i *item) DeepCopyObject() runtime.Object { c := *i; return &c }

// GetObjectKind implements runtime.Object: the watch knows the kind, the projection does not.
func (i *item) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// GetObjectMeta implements metav1.ObjectMetaAccessor with the only fields used by the reflector.
func (i *item) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: i.Namespace, Name: i.Name, UID: types.UID(i.UID), ResourceVersion: stored(i.ResourceVersion)}
}
