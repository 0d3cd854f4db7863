package except

import (
	"context"
	"fmt"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// Options are the flags and arguments of except.
type Options struct {
	*factory.Factory
	factory.Named
	spec       ExceptionSpec
	allow      []string
	from, span string
	dryRun     bool

	args []string
}

// New returns the verb except.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
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
			if o.Selector != "" {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		ValidArgsFunction: f.CompleteObjects(nil),
	})
	flags := cmd.Flags()
	flags.StringSliceVar(&o.allow, "allow", nil, "Actions to allow: create, delete, rollout, scale")
	flags.StringVar(&o.from, "from", "now", "Instant at which it begins")
	flags.StringVar(&o.span, "for", "", "How long: a span such as 1h")
	flags.StringVar(&o.spec.Reason, "reason", "", "Why")
	flags.StringVar(&o.spec.Ticket, "ticket", "", "URL of a ticket")
	flags.StringVar(&o.spec.ApprovedBy, "approved-by", "", "Who approved it")
	flags.StringVar(&o.spec.Name, "name", "", "Name of the exception (default: made of the first object and the time)")
	flags.StringSliceVar(&o.spec.Policies, "policies", nil, "Only these freezes, as Kind/name or name")
	flags.StringSliceVar(&o.spec.Users, "for-user", nil, "Only these users")
	flags.StringSliceVar(&o.spec.Groups, "for-group", nil, "Only these groups")
	flags.BoolVar(&o.spec.Cluster, "cluster", false, "Make a ClusterFreezeException, which lifts policies of the cluster too")
	o.AddSelector(cmd)
	flags.BoolVar(&o.dryRun, "dry-run", false, "Show the effect, and write nothing")
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete(args []string) error {
	o.args, o.spec.Namespace = args, o.Namespace()
	from, err := o.At("from", o.from)
	if err != nil {
		return err
	}
	return o.spec.Read(o.allow, from, o.span)
}

// Validate implements factory.Verb.
func (o *Options) Validate() error { return nil }

// Run makes the exception.
func (o *Options) Run(ctx context.Context) error {
	w, err := o.Load(ctx, source.Query{Namespace: o.spec.Namespace})
	if err != nil {
		return err
	}
	names, err := o.Given(ctx, o.Factory, o.args)
	if err != nil {
		return err
	}
	if err := o.spec.Select(w, names); err != nil {
		return err
	}
	user, err := o.User(ctx)
	if err != nil {
		return err
	}
	preview, err := Foresee(ctx, w, o.spec, user, o.FlyballNamespace, o.Zone)
	if err != nil {
		return err
	}
	o.ShowNotes(w)
	preview.DryRun = o.dryRun || o.Offline()
	if why := preview.Useless(); why != "" {
		return fmt.Errorf("the exception would lift nothing, so it is not made: %s", why)
	}
	if !preview.DryRun {
		cluster, err := o.Cluster()
		if err != nil {
			return err
		}
		if err := preview.Create(ctx, cluster.Client, metav1.CreateOptions{FieldManager: factory.FieldManager}); err != nil {
			return err
		}
	}
	if o.Format == printer.YAML {
		text, err := preview.Manifest()
		if err != nil {
			return err
		}
		_, err = o.Out.Write(text)
		return err
	}
	return o.Print(preview)
}
