package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/test/local"
)

// keysOf returns the prefix of the keys in etcd of the objects at the API path of a list. It returns false for kinds whose keys are not
// named after the path.
func keysOf(path string) (prefix string, known bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "apis": // apis/GROUP/VERSION/…
		group, parts = parts[1], parts[3:]
	case len(parts) > 1 && parts[0] == "api": // api/VERSION/…
		parts = parts[2:]
	default:
		return "", false
	}
	namespace := ""
	if len(parts) == 3 && parts[0] == "namespaces" {
		namespace, parts = parts[1]+"/", parts[2:]
	}
	if len(parts) != 1 {
		return "", false
	}
	switch {
	case group == "" && (parts[0] == "namespaces" || parts[0] == "pods" || parts[0] == "secrets"),
		group == "apps", group == "batch", group == "autoscaling":
		return "/registry/" + parts[0] + "/" + namespace, true
	case group == "apiextensions.k8s.io", group == "apiregistration.k8s.io", group == "autoscaling.k8s.io",
		strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io"): // kinds of CustomResourceDefinitions, and they themselves
		return "/registry/" + group + "/" + parts[0] + "/" + namespace, true
	}
	return "", false
}

// Remembering returns a configuration of the administrator by which a list of a built-in kind or of a kind of Flyball is answered
// from memory while etcd has the same objects. The definitions of these kinds do not change.
func (e *Env) Remembering() *rest.Config {
	config := rest.CopyConfig(e.Config)
	config.AcceptContentTypes = "application/json"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &memory{next: next, store: e.Cluster, lists: map[string]list{}}
	})
	return config
}

// memory has the last answer to each list.
type memory struct {
	next  http.RoundTripper
	store *local.Cluster

	mu    sync.Mutex
	lists map[string]list
}

// list is an answer with the state of the store at its instant.
type list struct {
	header http.Header
	body   []byte
	kept   local.Kept
}

// RoundTrip implements http.RoundTripper.
func (m *memory) RoundTrip(r *http.Request) (*http.Response, error) {
	keys, known := keysOf(r.URL.Path)
	query := r.URL.Query()
	query.Del("limit")
	if r.Method != http.MethodGet || !known || !steady(keys) || len(query) > 0 {
		return m.next.RoundTrip(r)
	}
	now, err := m.store.Kept(r.Context(), keys)
	if err != nil {
		return nil, err
	}
	url := r.URL.String()
	m.mu.Lock()
	last, remembered := m.lists[url]
	m.mu.Unlock()
	if remembered && last.kept == now[0] {
		return &http.Response{
			Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: last.header.Clone(),
			Body: io.NopCloser(bytes.NewReader(last.body)), ContentLength: int64(len(last.body)), Request: r,
		}, nil
	}
	answer, err := m.next.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusOK || !isJSON(answer) {
		return answer, err
	}
	return answer, m.remember(url, answer)
}

// steady reports whether keys are of a kind whose definition stays the same: a built-in kind or a kind of Flyball.
func steady(keys string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(keys, "/registry/"), "/")
	return first == v1alpha1.GroupVersion.Group || !strings.Contains(first, ".")
}

// remember keeps an answer that has all objects, with the state that its objects say.
func (m *memory) remember(url string, answer *http.Response) error {
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		return fmt.Errorf("read a list: %w", err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	if rawjson.GetBytes(body, "metadata.continue").Str != "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists[url] = list{answer.Header.Clone(), body, keptOf(body)}
	return nil
}

// keptOf returns the state of the store at the instant of a list of all its objects.
func keptOf(list []byte) (kept local.Kept) {
	rawjson.GetBytes(list, "items.#.metadata.resourceVersion").ForEach(func(_, v rawjson.Value) bool {
		kept.Keys++
		kept.Newest = max(kept.Newest, number(v.Str))
		return true
	})
	return kept
}

// newestKept returns the resourceVersion of the newest object of each list, by API path, without the lists that keysOf does not know.
func newestKept(ctx context.Context, store *local.Cluster, paths []string) (newest map[string]uint64, err error) {
	var known, keys []string
	for _, p := range paths {
		if prefix, ok := keysOf(p); ok {
			known, keys = append(known, p), append(keys, prefix)
		}
	}
	kept, err := store.Kept(ctx, keys...)
	if err != nil {
		return nil, err
	}
	newest = map[string]uint64{}
	for i, p := range known {
		newest[p] = kept[i].Newest
	}
	return newest, nil
}

// CompareStore returns the API paths of the lists with objects that the managers of this process watch whole. It is an error if a list
// has another newest object than the store.
func (e *Env) CompareStore(ctx context.Context) (paths []string, err error) {
	client, err := rest.HTTPClientFor(e.Config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	running.Range(func(m, _ any) bool {
		paths = append(paths, m.(*Manager).traffic.whole()...)
		return true
	})
	kept, err := newestKept(ctx, e.Cluster, paths)
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		newest, err := newestOf(ctx, client, e.Config.Host+p)
		if stored, known := kept[p]; err != nil || known && stored != newest {
			return nil, errors.Join(err, fmt.Errorf("the newest object of %s has resourceVersion %d, and the store says %d", p, newest, stored))
		}
	}
	return slices.DeleteFunc(paths, func(p string) bool { return kept[p] == 0 }), nil
}
