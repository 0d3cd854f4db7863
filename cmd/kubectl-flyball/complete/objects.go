package complete

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/path/rawjson"
)

// Objects suggests KIND/ first and, after the slash, names. It suggests targets, and the objects that the function more
// returns as KIND/NAME.
func (s Session) Objects(cmd *cobra.Command, typed string, more func(w *source.World, namespace string) []string) ([]string,
	cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if s.Ready() != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), within)
	defer cancel()
	kind, _, named := strings.Cut(typed, "/")
	namespace := s.Namespace()
	w, err := s.Load(ctx, source.Query{Namespace: namespace, PoliciesOnly: true})
	if err != nil {
		return nil, none
	}
	var others []string
	if more != nil {
		others = more(w, namespace)
	}
	if !named {
		var all []string
		for _, k := range w.Kinds {
			all = append(all, k.Names[1]+"/")
		}
		for _, other := range others {
			of, _, _ := strings.Cut(other, "/")
			all = append(all, of+"/")
		}
		slices.Sort(all)
		return slices.Compact(all), none | cobra.ShellCompDirectiveNoSpace
	}
	isPlace := slices.ContainsFunc(others, func(other string) bool { return strings.HasPrefix(other, "namespace/") })
	if isPlace && (kind == "namespace" || kind == "ns") {
		return Prefixed(kind+"/", s.Namespaces(cmd)), none
	}
	if others = slices.DeleteFunc(others, func(other string) bool { return !strings.HasPrefix(other, kind+"/") }); len(others) > 0 {
		return others, none
	}
	k, err := w.FindKind(kind)
	if err != nil {
		return nil, none
	}
	if s.Cluster() != nil {
		if w, err = s.Load(ctx, source.Query{Namespace: namespace, Kinds: []schema.GroupKind{k.GroupKind}}); err != nil {
			return nil, none
		}
	}
	var all []string
	for _, raw := range w.Objects {
		if rawjson.GetBytes(raw, "kind").Str == k.Kind {
			all = append(all, kind+"/"+rawjson.GetBytes(raw, "metadata.name").Str)
		}
	}
	return all, none
}

// Names suggests the texts KIND/NAME that the function names returns for the world.
func (s Session) Names(cmd *cobra.Command, names func(w *source.World, namespace string) []string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if s.Ready() != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), within)
	defer cancel()
	namespace := s.Namespace()
	w, err := s.Load(ctx, source.Query{Namespace: namespace, PoliciesOnly: true})
	if err != nil {
		return nil, none
	}
	return names(w, namespace), none
}
