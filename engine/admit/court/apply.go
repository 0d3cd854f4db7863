package court

import (
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// applied is an object once a manifest is applied to it, as kubectl apply works it out: what the manifest says is laid over the
// object, and what the last applied manifest said and this one does not is taken away. Fields that nobody speaks of stay.
func applied(live, manifest []byte) ([]byte, error) {
	root := gjson.ParseBytes(manifest)
	gv, err := schema.ParseGroupVersion(root.Get("apiVersion").Str)
	if err != nil {
		return nil, fmt.Errorf("apply a manifest: %w", err)
	}
	before := gjson.GetBytes(live, "metadata.annotations")
	var annotations map[string]string
	_ = json.Unmarshal([]byte(before.Raw), &annotations) // one that is no map has no last applied manifest
	last := []byte(annotations[corev1.LastAppliedConfigAnnotation])
	typed, err := scheme.Scheme.New(gv.WithKind(root.Get("kind").Str))
	if err != nil {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(last, manifest, live)
		if err != nil {
			return nil, fmt.Errorf("apply a manifest: %w", err)
		}
		return jsonpatch.MergePatch(live, patch)
	}
	schemaOf, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, fmt.Errorf("apply a manifest: %w", err)
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(last, manifest, live, schemaOf, true)
	if err != nil {
		return nil, fmt.Errorf("apply a manifest: %w", err)
	}
	return strategicpatch.StrategicMergePatchUsingLookupPatchMeta(live, patch, schemaOf)
}
