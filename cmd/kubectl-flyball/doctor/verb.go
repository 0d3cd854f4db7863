package doctor

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// Options are the flags of doctor.
type Options struct {
	*factory.Factory
	asked analysis.ServerFlags

	namespace string
}

// New returns the verb doctor.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation: manager, webhook, adapters, policies, ledgers, rivals, and GitOps tools",
		Long: `Checks the installation: whether the manager runs and the webhook answers with a lasting certificate, adapters that are not ready,
policies that cannot be read or select nothing, unreadable ledgers, and objects written by other schedulers.

Before the first night it names obstacles that are seen only then: objects that an operator without an adapter may put back,
webhooks of other programs that fail closed and whose backend is away or sleeps itself, autoscalers without metrics, waves that wait
for kinds without ready predicates, and PodDisruptionBudgets that keep the nodes of a sleeping pool.

It also names targets on which Argo CD or Flux applies a field that a policy changes in the next eight days, with the setting that
prevents it. The managed fields show that by day only. A setting that doctor does not evaluate, such as jqPathExpressions of Argo CD, or
cannot read, makes the check "not checked".

With --prometheus it asks for the demand of schedules with idle: whether there is an answer, whether its series name the targets, and
whether they are scraped as often as spec.idle.interval says.

Parts without a right to read are named and count neither as good nor as bad.

Exit codes: 0 no problem, 1 a problem, or an error.`,
		Example: "  kubectl flyball doctor -A\n  kubectl flyball doctor --offline manifests/",
		Args:    cobra.NoArgs,
	})
	o.AddAllFlag(cmd)
	o.asked.Add(cmd, "ask for the demand of schedules with idle")
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete([]string) error {
	o.namespace = o.Namespace()
	return nil
}

// Validate implements factory.Verb.
func (o *Options) Validate() error { return nil }

// Run checks the installation. It prints no note about missing rights, because one of the checks reports them.
func (o *Options) Run(ctx context.Context) error {
	w, err := o.Read(ctx, source.Query{Namespace: o.Within()})
	if err != nil {
		return err
	}
	in := Input{Live: !o.Offline(), Now: o.Now()}
	if in.Live {
		in.Namespace = o.Within()
		if in.Tools, err = o.gitOps(ctx); err != nil {
			return err
		}
	}
	found, err := Of(w, in)
	if err != nil {
		return err
	}
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	if err := found.Demands(ctx, memory, o.asked); err != nil {
		return err
	}
	if in.Live {
		if err := o.live(ctx, found, w); err != nil {
			return err
		}
	}
	return factory.Answer(o.Print(found), !found.Healthy(), factory.ExitError)
}

// gitOps reads the objects of GitOps tools in all namespaces, and the settings of Argo CD.
func (o *Options) gitOps(ctx context.Context) (tools GitOps, err error) {
	cluster, err := o.Cluster()
	if err != nil {
		return tools, err
	}
	var missing source.MissingRights
	tools.Appliers, err = cluster.Objects(ctx, ApplierKinds, "")
	if errors.As(err, &missing) {
		tools.Why = "you may not list its kind in all namespaces"
		return tools, nil
	}
	if err != nil {
		return tools, err
	}
	tools.Settings = map[string]Settings{}
	for _, raw := range tools.Appliers {
		ref := source.RefOf(raw)
		if _, seen := tools.Settings[ref.Namespace]; ref.GroupKind == applicationKind && !seen {
			tools.Settings[ref.Namespace] = settingsOf(ctx, cluster, ref.Namespace)
		}
	}
	return tools, nil
}

// settingsOf reads the ConfigMap argocd-cm in a namespace of Applications.
func settingsOf(ctx context.Context, cluster source.Cluster, namespace string) Settings {
	found, err := cluster.Client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(namespace).
		Get(ctx, "argocd-cm", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Settings{Why: "namespace " + namespace + " has no ConfigMap argocd-cm: its Argo CD, which may have rules for all Applications, " +
			"runs elsewhere"}
	}
	var raw []byte
	if err == nil {
		raw, err = found.MarshalJSON()
	}
	if err != nil {
		return Settings{Why: "its rules for all Applications are not known: " + err.Error()}
	}
	return Settings{ConfigMap: raw}
}

func (o *Options) live(ctx context.Context, found *Checkup, w *source.World) error {
	config, err := o.RestConfig()
	if err != nil {
		return err
	}
	clients, err := newClients(config)
	if err != nil {
		return err
	}
	cluster, err := o.Cluster()
	if err != nil {
		return err
	}
	found.Live(ctx, clients, cluster.Client, o.FlyballNamespace, o.namespace, o.Now())
	return found.FirstNight(ctx, clients, w, o.All)
}
