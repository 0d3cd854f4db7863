package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

const (
	// textsEvery is the interval of reading the ConfigMaps of calendars. A watch would need the right to list all
	// ConfigMaps of their namespaces.
	textsEvery = time.Minute
	// textsWithin is the time limit of one read, because other changes wait for it.
	textsWithin = 5 * time.Second
)

// read is the value of a file, or the error of reading it.
type read struct {
	value string
	err   error
}

// newTexts reads the files that changed calendars name and that have not been read yet.
func (f *Feed) newTexts(ctx context.Context, changed map[workload.Policy]client.Object) map[v1alpha1.ConfigMapKey]read {
	found := map[v1alpha1.ConfigMapKey]read{}
	for _, obj := range changed {
		c, ok := obj.(*v1alpha1.Calendar)
		if !ok || c.Spec.ICS == nil || c.Spec.ICS.ConfigMap == nil {
			continue
		}
		key := *c.Spec.ICS.ConfigMap
		if _, known := f.world.Snapshot().Text(key); known {
			continue
		}
		value, err, _ := f.readText(ctx, key)
		found[key] = read{value, err}
	}
	return found
}

// readTexts reads the ConfigMaps of calendars. After an error that may pass, the last known text stays.
func (f *Feed) readTexts(ctx context.Context) {
	wanted := f.world.Snapshot().Texts()
	if len(wanted) == 0 {
		return
	}
	found := map[v1alpha1.ConfigMapKey]read{}
	for _, key := range wanted {
		value, err, passes := f.readText(ctx, key)
		if passes {
			f.log.Error(err, "Failed to read the file of a calendar, and will try again", "configMap", key.Namespace+"/"+key.Name)
			if _, known := f.world.Snapshot().Text(key); known {
				continue
			}
		}
		found[key] = read{value, err}
	}
	files := f.readFiles(nil, found)
	f.world.Update(func(tx *world.Tx) {
		tx.SetFiles(files)
		for key, r := range found {
			tx.SetText(key, r.value, r.err)
		}
		tx.DropTexts()
	})
}

// readFiles reads the files of changed calendars and texts.
func (f *Feed) readFiles(changed map[workload.Policy]client.Object, texts map[v1alpha1.ConfigMapKey]read) map[string]*times.ReadFile {
	var calendars []*v1alpha1.Calendar
	for _, obj := range changed {
		if c, ok := obj.(*v1alpha1.Calendar); ok {
			calendars = append(calendars, c)
		}
	}
	values := map[v1alpha1.ConfigMapKey]string{}
	for key, r := range texts {
		if r.err == nil {
			values[key] = r.value
		}
	}
	return f.world.Snapshot().ReadFiles(calendars, values)
}

// readText reads a file. passes reports whether the error may pass without a change of the calendar, the ConfigMap or
// rights.
func (f *Feed) readText(ctx context.Context, key v1alpha1.ConfigMapKey) (value string, err error, passes bool) {
	ctx, cancel := context.WithTimeout(ctx, textsWithin)
	defer cancel()
	var cm corev1.ConfigMap
	switch err := f.reader.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, &cm); {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("there is no ConfigMap %s in the namespace %s", key.Name, key.Namespace), false
	case apierrors.IsForbidden(err):
		return "",
			errors.New("no right to read this ConfigMap: list it under calendars.configMaps of the chart, or give the manager the right to get it"),
			false
	case err != nil:
		return "", fmt.Errorf("read the ConfigMap: %w", err), true
	}
	if value, ok := cm.Data[key.Key]; ok {
		return value, nil, false
	}
	if value, ok := cm.BinaryData[key.Key]; ok { // kubectl puts a file there that is not UTF-8
		return string(value), nil, false
	}
	return "", fmt.Errorf("the ConfigMap has no key %s", key.Key), false
}
