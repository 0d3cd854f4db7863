package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"flyball.dev/flyball/cmd/kubectl-flyball/awake"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/suggest"
)

// completeWithin bounds how long a shell waits for suggestions.
const completeWithin = 5 * time.Second

// completeTargets suggests KIND/ and, after the slash, names.
func (s *session) completeTargets(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	return s.suggest(cmd, typed, nil)
}

// completeObjects suggests objects, however many there are already.
func (s *session) completeObjects(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.suggest(cmd, typed, nil)
}

// completePlaces suggests what can be kept awake: objects, a namespace and schedules; any number of them.
func (s *session) completePlaces(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.suggest(cmd, typed, awake.Names)
}

// suggest suggests KIND/ and, after the slash, names: of targets, and of what more gives as KIND/NAME.
func (s *session) suggest(cmd *cobra.Command, typed string, more func(w *source.World, namespace string) []string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if s.complete("") != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	kind, _, named := strings.Cut(typed, "/")
	files, _ := cmd.Flags().GetStringSlice("filename")
	if worlds, err := cmd.Flags().GetStringSlice("world"); err == nil { // can-i names its world otherwise
		files = worlds
	}
	namespace := s.namespace()
	w, err := s.read(ctx, source.Query{Namespace: namespace, PoliciesOnly: true}, files)
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
		return suggest.Prefixed(kind+"/", s.suggestions().Namespaces(cmd)), none
	}
	if others = slices.DeleteFunc(others, func(other string) bool { return !strings.HasPrefix(other, kind+"/") }); len(others) > 0 {
		return others, none
	}
	k, err := w.FindKind(kind)
	if err != nil {
		return nil, none
	}
	if !s.offline {
		if w, err = s.read(ctx, source.Query{Namespace: namespace, Kinds: []schema.GroupKind{k.GroupKind}}, files); err != nil {
			return nil, none
		}
	}
	var all []string
	for _, raw := range w.Objects {
		if gjson.GetBytes(raw, "kind").Str == k.Kind {
			all = append(all, kind+"/"+gjson.GetBytes(raw, "metadata.name").Str)
		}
	}
	return all, none
}

// suggestions are what completes the values of flags.
func (s *session) suggestions() suggest.Session {
	return suggest.Session{
		Ready: func() error { return s.complete("") }, Load: s.read, Namespace: s.namespace, OwnFormat: moreFormats,
		Kubeconfig: func() (clientcmdapi.Config, error) { return s.config.ToRawKubeConfigLoader().RawConfig() },
		Cluster: func() *source.Cluster {
			if s.offline {
				return nil
			}
			if cluster, err := s.cluster(); err == nil {
				return &cluster
			}
			return nil
		},
	}
}

// suggestNames suggests what a function of the world gives as KIND/NAME.
func (s *session) suggestNames(cmd *cobra.Command, names func(w *source.World, namespace string) []string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if s.complete("") != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	files, _ := cmd.Flags().GetStringSlice("filename")
	namespace := s.namespace()
	w, err := s.read(ctx, source.Query{Namespace: namespace, PoliciesOnly: true}, files)
	if err != nil {
		return nil, none
	}
	return names(w, namespace), none
}
