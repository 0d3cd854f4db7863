package register

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"flyball.dev/flyball/engine/workers"
)

// fieldManager is the field manager of all writes.
const fieldManager = "flyball-webhook"

// Registrar reads, writes and watches webhook configurations and admission policies, and the Secret of the certificates.
// Every replica does so. Conflicts are resolved by resourceVersion.
type Registrar struct {
	client.WithWatch
	// Author is the author of ValidatingWebhookConfigurations.
	Author Author
	// OwnerReference returns the owner of webhook configurations. Because of it, an uninstallation of Flyball also deletes
	// configurations that would otherwise block changes. nil means no owner.
	OwnerReference func(context.Context) (*metav1.OwnerReference, error)
	Log            logr.Logger
}

// NewRegistrar returns a Registrar that reads from the API server and not from a cache. A rest.Config without a usable API
// server is an error.
func NewRegistrar(config *rest.Config, log logr.Logger) (*Registrar, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(admissionregistrationv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("make the scheme of webhook configurations: %w", err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client of webhook configurations: %w", err)
	}
	return &Registrar{WithWatch: c, Log: log}, nil
}

// Keep creates or corrects an object, and reports whether it wrote. An error is that of the API server.
func (k *Registrar) Keep(ctx context.Context, want client.Object) (wrote bool, err error) {
	want = want.DeepCopyObject().(client.Object)
	switch want.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration:
		if k.OwnerReference != nil {
			owner, err := k.OwnerReference(ctx)
			if err != nil {
				return false, fmt.Errorf("keep %s: %w", describe(want), err)
			}
			want.SetOwnerReferences([]metav1.OwnerReference{*owner})
		}
	}
	live := named(want)
	return k.Edit(ctx, live, func() error { k.correct(live, want); return nil })
}

// Edit reads an object, calls a function that edits it, and writes the object if it has changed. It reports whether it
// wrote. An object that does not exist is created. An error is that of the API server, or of the function.
func (k *Registrar) Edit(ctx context.Context, live client.Object, edit func() error) (wrote bool, err error) {
	result, err := controllerutil.CreateOrUpdate(ctx, client.WithFieldOwner(k.WithWatch, fieldManager), live, edit)
	if err != nil {
		return false, fmt.Errorf("keep %s: %w", describe(live), err)
	}
	return result != controllerutil.OperationResultNone, nil
}

// Delete deletes an object that nobody has changed since it was read, and reports whether it wrote. A missing object is
// no error. A refused read or delete is an error.
func (k *Registrar) Delete(ctx context.Context, unwanted client.Object) (wrote bool, err error) {
	live := named(unwanted)
	err = k.Get(ctx, client.ObjectKeyFromObject(live), live)
	if config, is := live.(*admissionregistrationv1.ValidatingWebhookConfiguration); err == nil && is && k.Author.yields(config) {
		return false, nil
	}
	if err == nil {
		version := live.GetResourceVersion()
		err = k.WithWatch.Delete(ctx, live, client.Preconditions{ResourceVersion: &version})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("delete %s: %w", describe(live), err)
	}
	return err == nil, nil
}

// IsConflict reports whether another replica was first. The next attempt reads its result.
func IsConflict(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// correct gives an object the wanted content.
func (k *Registrar) correct(live, want client.Object) {
	if live.GetResourceVersion() == "" {
		live.SetLabels(want.GetLabels())
	}
	switch live := live.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		if next := k.Author.corrected(live, want.(*admissionregistrationv1.ValidatingWebhookConfiguration)); next != nil {
			*live = *next
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		live.Webhooks, live.OwnerReferences = want.(*admissionregistrationv1.MutatingWebhookConfiguration).Webhooks, want.GetOwnerReferences()
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		live.Spec = want.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		live.Spec = want.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec
	}
}

// Watch notifies when one of the objects is created, changed or deleted, when a watch begins, because earlier
// deletions cause no event, and when the author starts to lead. Pending notifications are merged into one. A refused watch is
// retried with back-off. An object of an unknown kind is an error.
func (k *Registrar) Watch(ctx context.Context, notify chan<- struct{}, objects ...client.Object) error {
	for _, object := range objects {
		if err := k.watch(ctx, notify, object); err != nil {
			return fmt.Errorf("watch %s: %w", describe(object), err)
		}
	}
	k.Author.notifyLead(ctx.Done(), notify)
	return nil
}

func (k *Registrar) watch(ctx context.Context, notify chan<- struct{}, object client.Object) error {
	gvk, err := k.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	gvk.Kind += "List"
	only := func(options *metav1.ListOptions) (client.ObjectList, *client.ListOptions) {
		list, _ := k.Scheme().New(gvk) // a scheme has the list of each kind
		return list.(client.ObjectList), &client.ListOptions{Namespace: object.GetNamespace(), Raw: options,
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, object.GetName())}
	}
	informer := cache.NewSharedIndexInformerWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, o := only(&options)
			return list, k.List(ctx, list, o)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			list, o := only(&options)
			return k.WithWatch.Watch(ctx, list, o)
		},
	}, named(object), cache.SharedIndexInformerOptions{})
	if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		k.Log.V(1).Info("Failed to watch an object; will retry", "name", object.GetName(), "reason", err.Error())
	}); err != nil {
		return err
	}
	tell := func(any) { workers.Poke(notify) }
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, object any) { tell(object) }, DeleteFunc: tell,
	}); err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			tell(nil)
		}
	}()
	return nil
}

// named returns an empty object of the same type and name.
func named(object client.Object) client.Object {
	empty := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	empty.SetName(object.GetName())
	empty.SetNamespace(object.GetNamespace())
	return empty
}

// describe returns kind and name of an object.
func describe(object client.Object) string {
	return fmt.Sprintf("the %s %s", reflect.TypeOf(object).Elem().Name(), strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/"))
}
