package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/cmd/kubectl-flyball/history"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/version"
	"flyball.dev/flyball/crds/v1alpha1"
)

// Env are the inputs from the command. The values behind pointers are valid once the flags are parsed.
type Env struct {
	// Now is the clock.
	Now func() time.Time
	// Offline reports whether no cluster is used. All is true if all namespaces are checked.
	Offline func() bool
	All     *bool
	// FlyballNamespace is the namespace that Flyball runs in. Namespace returns the namespace to check.
	FlyballNamespace *string
	Namespace        func() string
	// Config returns the configuration of the connection to the cluster. Cluster returns the reader of the cluster.
	Config  func() (*rest.Config, error)
	Cluster func() (source.Cluster, error)
	// Load reads the world from the cluster. If the session is offline, it reads files.
	Load func(ctx context.Context) (*source.World, error)
	// Print writes a finding.
	Print func(report.Finding) error
	// Ill is the error of the verb if a check found a problem.
	Ill error
}

// New returns the verb doctor.
func New(s Env) *cobra.Command {
	var asked history.Server
	cmd := &cobra.Command{
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
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.examine(cmd.Context(), asked) },
	}
	asked.Add(cmd, "ask for the demand of schedules with idle")
	return cmd
}

func (s Env) examine(ctx context.Context, asked history.Server) error {
	namespace := s.Namespace()
	w, err := s.Load(ctx)
	if err != nil {
		return err
	}
	o := Options{Live: !s.Offline(), Whole: *s.All || s.Offline(), Now: s.Now()}
	if o.Live {
		if o.Tools, err = s.gitOps(ctx); err != nil {
			return err
		}
	}
	found, err := Of(w, o)
	if err != nil {
		return err
	}
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	if err := found.Demands(ctx, memory, asked); err != nil {
		return err
	}
	if !s.Offline() {
		if err := s.live(ctx, found, w, namespace); err != nil {
			return err
		}
	}
	if err := s.Print(found); err != nil || found.Healthy() {
		return err
	}
	return s.Ill
}

// gitOps reads the objects of GitOps tools in all namespaces, and the settings of Argo CD.
func (s Env) gitOps(ctx context.Context) (tools GitOps, err error) {
	cluster, err := s.Cluster()
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

func (s Env) live(ctx context.Context, found *Checkup, w *source.World, namespace string) error {
	config, err := s.Config()
	if err != nil {
		return err
	}
	clients, err := newClients(config)
	if err != nil {
		return err
	}
	cluster, err := s.Cluster()
	if err != nil {
		return err
	}
	found.Live(ctx, clients, cluster.Client, *s.FlyballNamespace, namespace, s.Now())
	return found.FirstNight(ctx, clients, w, *s.All)
}

// NewVersion returns the verb version.
func NewVersion(s Env) *cobra.Command {
	client := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this plugin, of the manager and of the API, and warn of skew",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			own, _ := version.Get()
			v := Versions{Client: own, ClientAPI: v1alpha1.GroupVersion.String()}
			if !client && !s.Offline() {
				config, err := s.Config()
				if err != nil {
					return err
				}
				if err := v.Ask(cmd.Context(), config, *s.FlyballNamespace); err != nil {
					return err
				}
			}
			return s.Print(v)
		},
	}
	cmd.Flags().BoolVar(&client, "client", false, "Only the version of this plugin; ask no cluster")
	return cmd
}
