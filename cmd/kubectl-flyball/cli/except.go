package cli

import (
	"context"
	"fmt"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/cmd/kubectl-flyball/except"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

type exceptVerb struct {
	*factory.Factory
	factory.Named
	spec       except.ExceptionSpec
	allow      []string
	from, span string
	dryRun     bool
}

func newExcept(s *factory.Factory) *cobra.Command {
	v := &exceptVerb{Factory: s}
	cmd := &cobra.Command{
		Use:   "except KIND/NAME... --allow ACTION --for 1h --reason WHY [--cluster]",
		Short: "Make a freeze exception for some objects and actions, and show its effect",
		Long: `Makes a FreezeException for the given objects and actions, and shows which changes it lifts. An exception of a
namespace never lifts a policy of the cluster; --cluster makes a ClusterFreezeException, which lifts both. With --dry-run nothing is
written; -o yaml prints the manifest. An exception that would lift nothing is an error, and is not written.

To make an exception takes the verb except besides the right to create the exception.`,
		Example: "  kubectl flyball except deployment/cart --allow rollout --for 1h --reason \"CVE fix\" --ticket " +
			"https://tickets.example.com/4711\n  kubectl flyball except deployment/cart --allow delete --for 1h --reason hotfix --for-user " +
			"alice --dry-run -o yaml\n  kubectl flyball except deployment/cart --allow scale --for 1h --reason hotfix --cluster",
		Args: func(cmd *cobra.Command, args []string) error {
			if v.Selector != "" {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		ValidArgsFunction: s.CompleteObjects(nil),
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&v.allow, "allow", nil, "Actions to allow: create, delete, rollout, scale")
	flags.StringVar(&v.from, "from", "now", "Instant at which it begins")
	flags.StringVar(&v.span, "for", "", "How long: a span such as 1h")
	flags.StringVar(&v.spec.Reason, "reason", "", "Why")
	flags.StringVar(&v.spec.Ticket, "ticket", "", "URL of a ticket")
	flags.StringVar(&v.spec.ApprovedBy, "approved-by", "", "Who approved it")
	flags.StringVar(&v.spec.Name, "name", "", "Name of the exception (default: made of the first object and the time)")
	flags.StringSliceVar(&v.spec.Policies, "policies", nil, "Only these freezes, as Kind/name or name")
	flags.StringSliceVar(&v.spec.Users, "for-user", nil, "Only these users")
	flags.StringSliceVar(&v.spec.Groups, "for-group", nil, "Only these groups")
	flags.BoolVar(&v.spec.Cluster, "cluster", false, "Make a ClusterFreezeException, which lifts policies of the cluster too")
	v.AddSelector(cmd)
	flags.BoolVar(&v.dryRun, "dry-run", false, "Show the effect, and write nothing")
	return cmd
}

func (v *exceptVerb) run(ctx context.Context, args []string) error {
	from, err := v.At("from", v.from)
	if err != nil {
		return err
	}
	if err := v.spec.Read(v.allow, from, v.span); err != nil {
		return err
	}
	namespace := v.Namespace()
	v.spec.Namespace = namespace
	w, err := v.Load(ctx, source.Query{Namespace: namespace})
	if err != nil {
		return err
	}
	if args, err = v.Given(ctx, v.Factory, args); err != nil {
		return err
	}
	if err := v.spec.Select(w, args); err != nil {
		return err
	}
	user, err := v.User(ctx)
	if err != nil {
		return err
	}
	preview, err := except.Foresee(ctx, w, v.spec, user, v.FlyballNamespace, v.Zone)
	if err != nil {
		return err
	}
	v.ShowNotes(w)
	preview.DryRun = v.dryRun || v.Offline()
	if why := preview.Useless(); why != "" {
		return fmt.Errorf("the exception would lift nothing, so it is not made: %s", why)
	}
	if !preview.DryRun {
		cluster, err := v.Cluster()
		if err != nil {
			return err
		}
		if err := preview.Create(ctx, cluster.Client, metav1.CreateOptions{FieldManager: factory.FieldManager}); err != nil {
			return err
		}
	}
	if v.Format == report.YAML {
		text, err := preview.Manifest()
		if err != nil {
			return err
		}
		_, err = v.Out.Write(text)
		return err
	}
	return v.Print(preview)
}
