package witness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// write is one patch of a manager that the API server took.
type write struct {
	at time.Time
	// path is that of the object, without a subresource; before and after are its resourceVersions.
	path, before, after string
	// fields are the values that it sets, as JSON texts, by their JSON pointers; "" removes. The ledger is not among them.
	fields map[string]string
}

// writes are those of the managers of a clock, in the order in which they came through.
type writes struct {
	now func() time.Time

	mu  sync.Mutex
	all []write
	// rules counts the writes to policies, their statuses aside: one gets its finalizer when it comes, and loses it when it goes. An adapter
	// gets its own at the first write to its kind, which decides nothing.
	rules int
	// requests counts the answered requests that are not reads, whatever they are of.
	requests int
}

// answered is how many writes of managers were answered so far, those to statuses among them.
func (w *writes) answered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

func (w *writes) count() (all, rules int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all), w.rules
}

// of gives the writes to one object from some write on.
func (w *writes) of(from int, path string) (all []write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.all[from:] {
		if one.path == path {
			all = append(all, one)
		}
	}
	return all
}

// pathOf is that of an object in the API.
func pathOf(resource schema.GroupVersionResource, ref workload.Ref) string {
	path := "/apis/" + resource.Group + "/" + resource.Version
	if resource.Group == "" {
		path = "/api/" + resource.Version
	}
	if ref.Namespace != "" {
		path += "/namespaces/" + ref.Namespace
	}
	return path + "/" + resource.Resource + "/" + ref.Name
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// wrap overhears patches. Those of Flyball's own objects are counted.
func (w *writes) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			defer func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.requests++
			}()
		}
		own := strings.HasPrefix(r.URL.Path, "/apis/"+v1alpha1.GroupVersion.Group+"/")
		if own && r.Method == http.MethodPatch && !strings.HasSuffix(r.URL.Path, "/status") && !strings.Contains(r.URL.Path, "/adapters/") {
			w.mu.Lock()
			w.rules++
			w.mu.Unlock()
		}
		if own || r.Method != http.MethodPatch || r.Body == nil {
			return next.RoundTrip(r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(body))
		at := w.now()
		resp, err := next.RoundTrip(r)
		if err != nil || resp.StatusCode >= http.StatusMultipleChoices || bytes.Contains(body, []byte(`"/metadata/managedFields/`)) {
			return resp, err // what gives up the ownership of fields follows a write, and is not decided by itself
		}
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(answer))
		one := write{at: at, path: strings.TrimSuffix(r.URL.Path, "/scale"), after: gjson.GetBytes(answer, "metadata.resourceVersion").Str, fields: map[string]string{}}
		switch types.PatchType(r.Header.Get("Content-Type")) {
		case types.JSONPatchType:
			one.readOperations(body)
		case types.MergePatchType:
			one.before = gjson.GetBytes(body, "metadata.resourceVersion").Str
			one.readFields("", gjson.ParseBytes(body))
		default: // an object is kept as a template has it, which is not decided target by target
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all = append(w.all, one)
		return resp, nil
	})
}

// pointerOfLedger is where the ledger is.
var pointerOfLedger = "/metadata/annotations/" + escape(v1alpha1.AnnotationLedger)

func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// readFields takes over a merge patch.
func (w *write) readFields(at string, value gjson.Result) {
	switch {
	case at == "/metadata/resourceVersion" || at == "/metadata/uid" || at == pointerOfLedger:
	case value.IsObject():
		value.ForEach(func(key, inner gjson.Result) bool {
			w.readFields(at+"/"+escape(key.Str), inner)
			return true
		})
	case value.Type == gjson.Null:
		w.fields[at] = ""
	default:
		w.fields[at] = value.Raw
	}
}

// readOperations takes over a JSON patch.
func (w *write) readOperations(body []byte) {
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(body, &operations); err != nil {
		panic(fmt.Sprintf("a manager sent %s: %v", body, err))
	}
	for _, o := range operations {
		switch {
		case o.Op == "test" && o.Path == "/metadata/resourceVersion":
			w.before = strings.Trim(string(o.Value), `"`)
		case o.Op == "test" || o.Path == pointerOfLedger:
		case o.Op == "remove":
			w.fields[o.Path] = ""
		default:
			w.fields[o.Path] = string(o.Value)
		}
	}
}
