package migrate

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
)

// Kinds that several tools use.
var (
	Deployment   = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	StatefulSet  = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	DaemonSet    = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}
	CronJob      = schema.GroupKind{Group: "batch", Kind: "CronJob"}
	Job          = schema.GroupKind{Group: "batch", Kind: "Job"}
	Autoscaler   = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
	ScaledObject = schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}
	Rollout      = schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}
	Application  = schema.GroupKind{Group: "argoproj.io", Kind: "Application"}
	Postgres     = schema.GroupKind{Group: "acid.zalan.do", Kind: "postgresql"}
	Namespace    = schema.GroupKind{Kind: "Namespace"}
	Secret       = schema.GroupKind{Kind: "Secret"}
	Budget       = schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}
	Prometheus   = schema.GroupKind{Group: "monitoring.coreos.com", Kind: "Prometheus"}
	Stack        = schema.GroupKind{Group: "zalando.org", Kind: "Stack"}
)

// Clustered returns a Kind for a cluster-scoped kind.
func Clustered(gk schema.GroupKind) ToolKind { return ToolKind{GroupKind: gk, Cluster: true} }

// Namespaced returns Kinds for namespaced kinds.
func Namespaced(all ...schema.GroupKind) []ToolKind {
	kinds := make([]ToolKind, len(all))
	for i, gk := range all {
		kinds[i] = ToolKind{GroupKind: gk}
	}
	return kinds
}

// Refs returns kinds in the form of a policy's target.
func Refs(all ...schema.GroupKind) []v1alpha1.KindRef {
	list := make([]v1alpha1.KindRef, len(all))
	for i, gk := range all {
		list[i] = v1alpha1.KindRef{Group: gk.Group, Kind: gk.Kind}
	}
	return list
}

// Meta returns the metadata of an object. An empty namespace means a cluster-scoped object.
func Meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// SortedKeys returns the keys of a JSON object, sorted.
func SortedKeys(object rawjson.Value) []string {
	return slices.Sorted(maps.Keys(object.Map()))
}

// Decoded decodes a part of an object. It returns nil if the part is absent or has a different form.
func Decoded[T any](part rawjson.Value) *T {
	if !part.IsObject() {
		return nil
	}
	v := new(T)
	if json.Unmarshal([]byte(part.Raw), v) != nil {
		return nil
	}
	return v
}

// Zone returns the given time zone or, for an empty text, UTC, which is the default of the tools.
func Zone(text string) string { return cmp.Or(text, "UTC") }

// AnnotationPointer returns the JSON pointer of an annotation.
func AnnotationPointer(key string) string {
	return string(path.Pointer("/metadata/annotations").Append(key))
}

// LabelPointer returns the JSON pointer of a label.
func LabelPointer(key string) string { return string(path.Pointer("/metadata/labels").Append(key)) }

// Command returns a kubectl command for objects of a kind. The objects are in the given namespace, or are
// cluster-scoped if the namespace is empty.
func Command(verb string, gk schema.GroupKind, namespace string, names []string, more string) string {
	words := []string{"kubectl", verb, strings.ToLower(gk.String())}
	for _, name := range names {
		words = append(words, shellWord(name))
	}
	if namespace != "" {
		words = append(words, "-n", shellWord(namespace))
	}
	return strings.TrimSpace(strings.Join(append(words, more), " "))
}

// shellWord returns a name as one word of a shell. It quotes unusual names, because a name in a file may be any text.
func shellWord(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == "" {
		return name
	}
	return ShellQuoted(name)
}

// ShellQuoted returns a text as one word of a shell.
func ShellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Groups are lists of values by key. The keys keep the order in which they were added.
type Groups[K comparable, V any] struct {
	Keys []K
	Of   map[K][]V
}

// Add adds a value to the group of a key.
func (g *Groups[K, V]) Add(key K, value V) {
	if g.Of == nil {
		g.Of = map[K][]V{}
	}
	if g.Of[key] == nil {
		g.Keys = append(g.Keys, key)
	}
	g.Of[key] = append(g.Of[key], value)
}

// Count parses a text as a number of replicas.
func Count(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	return n, err == nil && n >= 0
}

// Number returns the JSON text of a number.
func Number(n int64) string { return strconv.FormatInt(n, 10) }

// Quoted returns a text as a JSON string.
func Quoted(text string) string { return strconv.Quote(text) }

// Slug returns a text in a form that can be part of an object's name.
func Slug(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, text), "-")
}

// NoteSpringTransitions adds a note about crons in the hour that is skipped when clocks go forward, if the time zone has such
// an hour.
func NoteSpringTransitions(e *Emitted) {
	if s, ok := e.Object.(*v1alpha1.ClusterSchedule); ok && s.Spec.TimeZone == "UTC" {
		return
	}
	if s, ok := e.Object.(*v1alpha1.Schedule); ok && s.Spec.TimeZone == "UTC" {
		return
	}
	e.Note("a transition in the hour that clocks skip in spring is lost there, and comes at the end of that hour here")
}
