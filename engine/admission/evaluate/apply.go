package evaluate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"flyball.dev/flyball/engine/path/rawjson"
)

// maxListed is the maximum number of elements of one list. maxListedInAll is the maximum number of elements in all
// lists of an object. Both apply only to kinds whose lists are merged by keys. This merge takes quadratic time or
// more: a hundred kilobytes of containers took minutes.
const maxListed, maxListedInAll = 250, 2000

// errListed is the error for a manifest, object or last applied manifest with too long lists.
var errListed = fmt.Errorf("a list of more than %d elements, or %d in all lists, takes too long to compare: ask about an action instead",
	maxListed, maxListedInAll)

// applied returns an object after a manifest is applied, with the result of kubectl apply: fields of the manifest are
// set, fields of the last applied manifest that are missing in the new one are removed, and all remaining fields stay.
func applied(live, manifest []byte) ([]byte, error) {
	root := rawjson.ParseBytes(manifest)
	gv, err := schema.ParseGroupVersion(root.Get("apiVersion").Str)
	if err != nil {
		return nil, fmt.Errorf("apply a manifest: %w", err)
	}
	before := rawjson.GetBytes(live, "metadata.annotations")
	var annotations map[string]string
	_ = json.Unmarshal([]byte(before.Raw), &annotations) // annotations of a wrong type count as no last applied manifest
	last := []byte(annotations[corev1.LastAppliedConfigAnnotation])
	typed, err := scheme.Scheme.New(gv.WithKind(root.Get("kind").Str))
	if err != nil {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(last, manifest, live)
		if err != nil {
			return nil, fmt.Errorf("apply a manifest: %w", err)
		}
		return jsonpatch.MergePatch(live, patch)
	}
	for _, document := range [][]byte{live, manifest, last} {
		if err := checkLists(document); err != nil {
			return nil, fmt.Errorf("apply a manifest: %w", err)
		}
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

// checkLists refuses JSON with lists too long to merge.
func checkLists(document []byte) error {
	tokens := json.NewDecoder(bytes.NewReader(document))
	tokens.UseNumber()
	const object = -1
	var open []int // for each open bracket: -1 for an object, or the number of elements so far
	all := 0
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		closes := token == json.Delim('}') || token == json.Delim(']')
		if closes {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1] != object {
			open[n-1]++
			if all++; open[n-1] > maxListed || all > maxListedInAll {
				return errListed
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object)
		case json.Delim('['):
			open = append(open, 0)
		}
	}
}
