package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// completeWithin bounds how long a shell waits for suggestions.
const completeWithin = 5 * time.Second

// completeTargets suggests KIND/ and, after the slash, names.
func (s *session) completeTargets(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 || s.complete("") != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	kind, _, named := strings.Cut(typed, "/")
	files, _ := cmd.Flags().GetStringSlice("filename")
	namespace, err := s.namespace()
	if err != nil {
		return nil, none
	}
	w, err := s.load(ctx, source.Query{Namespace: namespace, PoliciesOnly: true}, files)
	if err != nil {
		return nil, none
	}
	if !named {
		var all []string
		for _, k := range w.Kinds {
			all = append(all, k.Names[1]+"/")
		}
		return all, none | cobra.ShellCompDirectiveNoSpace
	}
	k, err := w.FindKind(kind)
	if err != nil {
		return nil, none
	}
	if !s.offline {
		if w, err = s.load(ctx, source.Query{Namespace: namespace, Kinds: []schema.GroupKind{k.GroupKind}}, files); err != nil {
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
