package factory

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/path/rawjson"
)

// Others returns names in a world that a verb takes besides targets, as KIND/NAME.
type Others func(w *source.World, namespace string) []string

// CompleteObject completes one target, or one of the other names: KIND/ first and, after the slash, names.
func (f *Factory) CompleteObject(others Others) cobra.CompletionFunc {
	all := f.CompleteObjects(others)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !isKind(args) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all(cmd, args, typed)
	}
}

// CompleteObjects completes any number of targets and other names.
func (f *Factory) CompleteObjects(others Others) cobra.CompletionFunc {
	return words(func(cmd *cobra.Command, typed string) ([]string, cobra.ShellCompDirective) {
		return f.objects(cmd, typed, others)
	})
}

// CompletePolicies completes any number of policies.
func (f *Factory) CompletePolicies() cobra.CompletionFunc {
	return words(func(cmd *cobra.Command, _ string) ([]string, cobra.ShellCompDirective) {
		w := f.policies(cmd)
		if w == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return source.PolicyNames(w, f.Namespace()), cobra.ShellCompDirectiveNoFileComp
	})
}

// isKind reports whether the arguments begin with a kind alone, as in deployment web.
func isKind(args []string) bool { return len(args) > 0 && !strings.Contains(args[0], "/") }

// words completes KIND/NAME by a function, and NAME alone after a kind.
func words(list func(cmd *cobra.Command, typed string) ([]string, cobra.ShellCompDirective)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if !isKind(args) {
			return list(cmd, typed)
		}
		all, directive := list(cmd, args[0]+"/"+typed)
		var names []string
		for _, text := range all {
			if name, ok := strings.CutPrefix(text, args[0]+"/"); ok {
				names = append(names, name)
			}
		}
		return names, directive
	}
}

// objects suggests KIND/ first and, after the slash, the names of targets and of others.
func (f *Factory) objects(cmd *cobra.Command, typed string, more Others) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	w := f.policies(cmd)
	if w == nil {
		return nil, none
	}
	kind, _, named := strings.Cut(typed, "/")
	namespace := f.Namespace()
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
		return prefixed(kind+"/", f.namespaces(cmd)), none
	}
	if others = slices.DeleteFunc(others, func(other string) bool { return !strings.HasPrefix(other, kind+"/") }); len(others) > 0 {
		return others, none
	}
	k, err := w.FindKind(kind)
	if err != nil {
		return nil, none
	}
	if !f.Offline() {
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		if w, err = f.Read(ctx, source.Query{Namespace: namespace, Kinds: []schema.GroupKind{k.GroupKind}}); err != nil {
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
