package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// DryRun keeps writes in memory. Watches show the objects as if they were written, and the API server gets only reads. A kept
// change lasts until the original is back, the object is gone, or the process ends. While it lasts, later edits of the same field are
// not shown, except edits of lists: they end it, and the object is decided anew.
type DryRun struct {
	client dynamic.Interface

	mu   sync.Mutex
	kept map[object]*kept
	// writes counts the writes, for resourceVersions that differ.
	writes int
	shows  []func(schema.GroupVersionResource, []byte)
}

// object names an object in any version of its kind.
type object struct {
	schema.GroupResource
	namespace, name string
}

// kept is the difference that the writes to an object make.
type kept struct {
	uid    string
	write  int
	change []byte
	// lists are the values at the places of the lists in change, as they were at the write.
	lists []any
}

// NewDryRun returns a DryRun that reads objects by the configuration. An error means that the configuration gives no client.
func NewDryRun(config *rest.Config) (*DryRun, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client of the dry run: %w", err)
	}
	return &DryRun{client: client, kept: map[object]*kept{}}, nil
}

// ShowBy adds a function that shows an object again after a write. It must be called before the first write.
func (d *DryRun) ShowBy(show func(schema.GroupVersionResource, []byte)) {
	d.shows = append(d.shows, show)
}

// Over returns an object as if Flyball's writes had been made, with a resourceVersion of its own: the real one, "+" and a number.
// Without a kept change it returns raw.
func (d *DryRun) Over(resource schema.GroupResource, raw []byte) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kept) == 0 {
		return raw
	}
	return d.over(object{resource, rawjson.GetBytes(raw, "metadata.namespace").Str, rawjson.GetBytes(raw, "metadata.name").Str}, raw)
}

// Gone drops the kept change of a deleted object.
func (d *DryRun) Gone(resource schema.GroupResource, namespace, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.kept, object{resource, namespace, name})
}

func (d *DryRun) over(key object, raw []byte) []byte {
	k := d.kept[key]
	if k == nil {
		return raw
	}
	if k.uid != rawjson.GetBytes(raw, "metadata.uid").Str || len(k.lists) > 0 && !reflect.DeepEqual(k.lists, replaced(raw, k.change)) {
		delete(d.kept, key)
		return raw
	}
	version := rawjson.GetBytes(raw, "metadata.resourceVersion").Str + "+" + strconv.Itoa(k.write)
	return withVersion(workload.Merged(raw, k.change), version)
}

func withVersion(raw []byte, version string) []byte {
	return workload.Merged(raw, fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q}}`, version))
}

// replaced returns the values of a document at the places at which a merge patch has lists.
func replaced(raw, change []byte) (all []any) {
	var doc, patch any
	if json.Unmarshal(raw, &doc) != nil || json.Unmarshal(change, &patch) != nil {
		return nil
	}
	var walk func(doc, patch any)
	walk = func(doc, patch any) {
		switch p := patch.(type) {
		case []any:
			all = append(all, doc)
		case map[string]any:
			fields, _ := doc.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(p)) {
				walk(fields[name], p[name])
			}
		}
	}
	walk(doc, patch)
	return all
}

// apply keeps a patch and its follow-ups, and shows the object. The outcomes and errors are those of Writer.Apply, except that
// nothing is refused.
func (d *DryRun) apply(ctx context.Context, resource schema.GroupVersionResource, obj *workload.Object, patch *workload.Patch) (Outcome,
	error) {
	live, err := d.client.Resource(resource).Namespace(obj.Namespace).Get(ctx, obj.Name, metav1.GetOptions{})
	if err != nil {
		return classify(err, patch.Type), fmt.Errorf("read %s %s for a dry run: %w", resource.GroupResource(), name(obj), err)
	}
	raw, err := live.MarshalJSON()
	if err != nil {
		return Failed, fmt.Errorf("read %s %s for a dry run: %w", resource.GroupResource(), name(obj), err)
	}
	outcome, err := d.keep(object{resource.GroupResource(), obj.Namespace, obj.Name}, raw, obj.ResourceVersion, patch)
	if err != nil {
		return outcome, fmt.Errorf("patch %s %s in a dry run: %w", resource.GroupResource(), name(obj), err)
	}
	for _, show := range d.shows {
		show(resource, raw) // also if the object is stale: a watch may have missed the last write
	}
	return outcome, nil
}

func (d *DryRun) keep(key object, raw []byte, version string, patch *workload.Patch) (Outcome, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := d.over(key, raw)
	if rawjson.GetBytes(after, "metadata.resourceVersion").Str != version {
		return Stale, nil
	}
	for p := patch; p != nil; p = p.Next {
		var err error
		if after, err = patched(after, p); err != nil {
			return Failed, err
		}
	}
	after = withVersion(after, rawjson.GetBytes(raw, "metadata.resourceVersion").Str)
	change, err := jsonpatch.CreateMergePatch(raw, after)
	if err != nil {
		return Failed, err
	}
	d.writes++
	if string(change) == "{}" || !isPod(key.GroupResource) && !hasLedger(raw) && !hasLedger(after) {
		delete(d.kept, key)
		return Applied, nil
	}
	d.kept[key] = &kept{uid: rawjson.GetBytes(raw, "metadata.uid").Str, write: d.writes, change: change, lists: replaced(raw, change)}
	return Applied, nil
}

// hasLedger reports whether an object has something to restore. Without it, a kept change would only hide later edits.
func hasLedger(raw []byte) bool {
	return rawjson.GetBytes(raw, "metadata.annotations").Map()[v1alpha1.AnnotationLedger].Exists()
}

func isPod(r schema.GroupResource) bool { return r == schema.GroupResource{Resource: "pods"} }

// patched returns an object after one patch. Only pods get strategic merge patches.
func patched(raw []byte, p *workload.Patch) ([]byte, error) {
	if p.Type == types.StrategicMergePatchType {
		return strategicpatch.StrategicMergePatch(raw, p.Body, corev1.Pod{})
	}
	return workload.Patched(raw, p)
}
