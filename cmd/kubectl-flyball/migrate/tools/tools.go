// Package tools says what the objects of other tools mean in Flyball's, a file a tool. A tool is a row of All.
package tools

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/migrate"
	"flyball.dev/flyball/crds/v1alpha1"
)

// All lists the tools, in the order in which their objects are printed.
func All() []migrate.Tool {
	return []migrate.Tool{
		lightsOut(), downscaler(), kubeGreen(), kubeFreeze(), smartHPA(), tortoise(), podDeletionCost(), kedaCron(), argoSyncWindows(),
	}
}

// Kinds that several tools have to do with.
var (
	deployment  = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	statefulSet = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	daemonSet   = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}
	cronJob     = schema.GroupKind{Group: "batch", Kind: "CronJob"}
	job         = schema.GroupKind{Group: "batch", Kind: "Job"}
	autoscaler  = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
	scaled      = schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}
	rollout     = schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}
	application = schema.GroupKind{Group: "argoproj.io", Kind: "Application"}
	postgres    = schema.GroupKind{Group: "acid.zalan.do", Kind: "postgresql"}
	namespace   = schema.GroupKind{Kind: "Namespace"}
	secret      = schema.GroupKind{Kind: "Secret"}
)

// clustered and namespaced make kinds of both scopes.
func clustered(gk schema.GroupKind) migrate.Kind { return migrate.Kind{GroupKind: gk, Cluster: true} }

func namespaced(all ...schema.GroupKind) []migrate.Kind {
	kinds := make([]migrate.Kind, len(all))
	for i, gk := range all {
		kinds[i] = migrate.Kind{GroupKind: gk}
	}
	return kinds
}

// refs name kinds in a target.
func refs(all ...schema.GroupKind) []v1alpha1.KindRef {
	list := make([]v1alpha1.KindRef, len(all))
	for i, gk := range all {
		list[i] = v1alpha1.KindRef{Group: gk.Group, Kind: gk.Kind}
	}
	return list
}

// meta names an object; a namespace that is empty is none.
func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// names lists the names of objects.
func names(all []migrate.Object) string {
	list := make([]string, len(all))
	for i, o := range all {
		list[i] = o.Name()
	}
	return strings.Join(list, ", ")
}

// sortedKeys are the keys of a JSON object.
func sortedKeys(object gjson.Result) []string {
	return slices.Sorted(maps.Keys(object.Map()))
}

// decoded reads a part of an object; nil where it is absent or no such thing.
func decoded[T any](part gjson.Result) *T {
	if !part.IsObject() {
		return nil
	}
	v := new(T)
	if json.Unmarshal([]byte(part.Raw), v) != nil {
		return nil
	}
	return v
}

// zone is a time zone with the tools' default.
func zone(text string) string {
	if text == "" {
		return "UTC"
	}
	return text
}

// annotationPointer is the JSON pointer of an annotation, and labelPointer that of a label.
func annotationPointer(key string) string { return "/metadata/annotations/" + escaped(key) }
func labelPointer(key string) string      { return "/metadata/labels/" + escaped(key) }

func escaped(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}

// count reads a replica count that is kept as text.
func count(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	return n, err == nil && n >= 0
}

// number is the JSON text of a number.
func number(n int64) string { return strconv.FormatInt(n, 10) }

// quoted is the JSON text of a text.
func quoted(text string) string { return strconv.Quote(text) }
