package factory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// Named are the objects that a verb is about: its arguments, or the objects with some labels.
type Named struct{ Selector string }

// AddSelector adds the flag -l to a command.
func (n *Named) AddSelector(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&n.Selector, "selector", "l", "", "In place of KIND/NAME: the objects of the namespace with these labels")
}

// Given returns the objects as KIND/NAME. Objects that follow their owners, such as the ReplicaSets of a Deployment, are not among
// those with the labels. No object with the labels is an error.
func (n *Named) Given(ctx context.Context, f *Factory, args []string) ([]string, error) {
	if n.Selector == "" {
		return args, nil
	}
	if len(args) > 0 {
		return nil, errors.New("give KIND/NAME or --selector, not both")
	}
	chosen, err := labels.Parse(n.Selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	namespace := f.Namespace()
	w, err := f.Read(ctx, source.Query{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	var names []string
	memory.EachObject(func(ref workload.Ref) {
		obj := memory.Object(ref)
		if ref.Namespace == namespace && chosen.Matches(obj.Labels) && !decide.FollowsOwner(memory, obj) {
			names = append(names, strings.ToLower(ref.GroupKind.String())+"/"+ref.Name)
		}
	})
	if len(names) == 0 {
		return nil, fmt.Errorf("no object in namespace %s has the labels %s", namespace, n.Selector)
	}
	slices.Sort(names)
	return names, nil
}
