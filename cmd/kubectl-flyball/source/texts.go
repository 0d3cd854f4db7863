package source

import (
	"cmp"
	"context"
	"encoding/base64"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
)

// texts returns the values of all ConfigMaps among the manifests. A calendar may have its file in one of them.
func (m *Manifests) texts(namespace string) map[v1alpha1.ConfigMapKey]string {
	all := map[v1alpha1.ConfigMapKey]string{}
	for _, raw := range m.Others {
		if root := rawjson.ParseBytes(raw); root.Get("kind").Str == "ConfigMap" && root.Get("apiVersion").Str == "v1" {
			addTexts(all, root, cmp.Or(root.Get("metadata.namespace").Str, namespace))
		}
	}
	return all
}

func addTexts(all map[v1alpha1.ConfigMapKey]string, configMap rawjson.Value, namespace string) {
	name := configMap.Get("metadata.name").Str
	for key, value := range configMap.Get("binaryData").Map() {
		if file, err := base64.StdEncoding.DecodeString(value.Str); err == nil {
			all[v1alpha1.ConfigMapKey{Namespace: namespace, Name: name, Key: key}] = string(file)
		}
	}
	for key, value := range configMap.Get("data").Map() {
		all[v1alpha1.ConfigMapKey{Namespace: namespace, Name: name, Key: key}] = value.Str
	}
}

// texts reads the ConfigMaps that calendars name. If a ConfigMap cannot be read, its calendar is not valid, and the
// policies with this calendar report it.
func (r *reading) texts(ctx context.Context) {
	r.world.Texts = map[v1alpha1.ConfigMapKey]string{}
	for _, c := range r.world.Calendars {
		if c.Spec.ICS == nil || c.Spec.ICS.ConfigMap == nil {
			continue
		}
		key := *c.Spec.ICS.ConfigMap
		found, err := r.Client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(key.Namespace).Get(ctx, key.Name,
			metav1.GetOptions{})
		if err != nil {
			r.world.Note("the file of the calendar %s cannot be read: %v", c.Name, err)
			continue
		}
		raw, err := found.MarshalJSON()
		if err == nil {
			addTexts(r.world.Texts, rawjson.ParseBytes(raw), key.Namespace)
		}
	}
}
