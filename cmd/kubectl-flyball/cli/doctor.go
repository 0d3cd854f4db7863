package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"flyball.dev/flyball/cmd/kubectl-flyball/checkup"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

type doctorVerb struct {
	*session
	manifests
}

func newDoctor(s *session) *cobra.Command {
	v := &doctorVerb{session: s}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation: manager, webhook, adapters, policies, ledgers, and rivals",
		Long: `Checks the installation: whether the manager runs and the webhook answers with a certificate that lasts, adapters that are not ready,
policies that cannot be read or select nothing, ledgers that cannot be read, and objects that other schedulers write.

What you have no right to look at is named and counts neither as well nor as ill.

Exit codes: 0 no problem was found, 1 a problem, or an error.`,
		Example: "  kubectl flyball doctor -A\n  kubectl flyball doctor --offline -f manifests/",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.run(cmd.Context()) },
	}
	v.addAllFlag(cmd)
	v.addFlags(cmd, offlineFiles)
	return cmd
}

func (v *doctorVerb) run(ctx context.Context) error {
	namespace := v.namespace()
	w, err := v.load(ctx, source.Query{Namespace: v.within()}, v.paths)
	if err != nil {
		return err
	}
	found, err := checkup.Of(w, !v.offline, v.all || v.offline)
	if err != nil {
		return err
	}
	if !v.offline {
		if err := v.live(ctx, found, namespace); err != nil {
			return err
		}
	}
	return answer(v.print(found), !found.Healthy(), exitError)
}

func (v *doctorVerb) live(ctx context.Context, found *checkup.Checkup, namespace string) error {
	config, err := v.restConfig()
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	cluster, err := v.cluster()
	if err != nil {
		return err
	}
	found.Live(ctx, clients, cluster.Client, v.flyballNamespace, namespace, v.Now())
	return nil
}
