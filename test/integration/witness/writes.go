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

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// write is one successful patch of a manager.
type write struct {
	at time.Time
	// path is the path of the object, without a subresource. before and after are its resourceVersions.
	path, before, after string
	// fields are the written values as JSON texts, by JSON pointer; "" removes a field. The ledger is left out.
	fields map[string]string
}

// writes are the writes of a clock's managers, in the order of their success.
type writes struct {
	now func() time.Time

	mu  sync.Mutex
	all []write
	// rules is the number of writes to policies, without their statuses. A policy gets its finalizer when it is created,
	// and loses it when it is deleted. An adapter gets its finalizer at the first write to its kind, which changes no
	// decision.
	rules int
	// requests counts all answered requests except reads.
	requests int
}

// answered returns the number of the managers' answered writes so far, including statuses.
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

// of returns the writes to one object, from a position on.
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

// pathOf returns the API path of an object.
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

// wrap records patches. Patches of Flyball's own objects are counted.
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
			return resp, err // giving up the ownership of fields follows a write, and is no decision of its own
		}
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(answer))
		one := write{at: at, path: strings.TrimSuffix(r.URL.Path, "/scale"), after: rawjson.GetBytes(answer, "metadata.resourceVersion").Str,
			fields: map[string]string{}}
		switch types.PatchType(r.Header.Get("Content-Type")) {
		case types.JSONPatchType:
			one.readOperations(body)
		case types.MergePatchType:
			one.before = rawjson.GetBytes(body, "metadata.resourceVersion").Str
			one.readFields("", rawjson.ParseBytes(body))
		default: // an object kept in the state of its template is not decided per target
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all = append(w.all, one)
		return resp, nil
	})
}

// pointerOfLedger is the pointer to the ledger.
var pointerOfLedger = "/metadata/annotations/" + escape(v1alpha1.AnnotationLedger)

func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// readFields records a merge patch.
func (w *write) readFields(at string, value rawjson.Value) {
	switch {
	case at == "/metadata/resourceVersion" || at == "/metadata/uid" || at == pointerOfLedger:
	case value.IsObject():
		value.ForEach(func(key, inner rawjson.Value) bool {
			w.readFields(at+"/"+escape(key.Str), inner)
			return true
		})
	case value.Type == rawjson.Null:
		w.fields[at] = ""
	default:
		w.fields[at] = value.Raw
	}
}

// readOperations records a JSON patch.
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
