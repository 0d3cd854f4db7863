// Package version is the verb version: the versions of the plugin, the manager, the API and Kubernetes, and their skew.
package version

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	apps "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/version"
	"flyball.dev/flyball/crds/v1alpha1"
)

// Options are the flags of version.
type Options struct {
	*factory.Factory
	client bool
}

// New returns the verb version.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this plugin, of the manager and of the API, and warn of skew",
		Args:  cobra.NoArgs,
	})
	cmd.Flags().BoolVar(&o.client, "client", false, "Only the version of this plugin; ask no cluster")
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete([]string) error { return nil }

// Validate implements factory.Verb.
func (o *Options) Validate() error { return nil }

// Run prints the versions.
func (o *Options) Run(ctx context.Context) error {
	own, _ := version.Get()
	v := Versions{Client: own, ClientAPI: v1alpha1.GroupVersion.String()}
	if !o.client && !o.Offline() {
		config, err := o.RestConfig()
		if err != nil {
			return err
		}
		if err := v.Ask(ctx, config, o.FlyballNamespace); err != nil {
			return err
		}
	}
	return o.Print(v)
}

// Versions are the versions of the plugin, the manager, the API and Kubernetes.
type Versions struct {
	Client string `json:"client"`
	// ClientAPI is the API version of this build. ServerAPI are the API versions served by the cluster.
	ClientAPI string   `json:"clientAPI"`
	ServerAPI []string `json:"serverAPI,omitempty"`
	// Manager is the version of the manager. It is absent if the version is unknown, and ManagerUnknown is then the
	// reason.
	Manager        string   `json:"manager,omitempty"`
	ManagerUnknown string   `json:"managerUnknown,omitempty"`
	Kubernetes     string   `json:"kubernetes,omitempty"`
	Warnings       []string `json:"warnings,omitempty"`
}

// Names implements printer.Finding.
func (v Versions) Names() []string { return []string{v.Client} }

// Text implements printer.Finding.
func (v Versions) Text(w *printer.Writer) {
	rows := [][]printer.Cell{printer.Row("client", v.Client, "API "+v.ClientAPI)}
	if v.Kubernetes != "" {
		rows = append(rows, printer.Row("manager", cmp.Or(v.Manager, "unknown"), "API "+strings.Join(v.ServerAPI, ", ")),
			printer.Row("kubernetes", v.Kubernetes))
	}
	w.Grid("", nil, rows)
	if v.ManagerUnknown != "" {
		w.Line("The version of the manager is not known: %s", v.ManagerUnknown)
	}
	for _, text := range v.Warnings {
		w.Line("%s", w.Styled("warning: "+text, printer.Warn))
	}
}

// Ask reads the versions from a cluster and compares them.
func (v *Versions) Ask(ctx context.Context, config *rest.Config, flyballNamespace string) error {
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	workloads, err := apps.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	info, err := server.ServerVersion()
	if err != nil {
		return fmt.Errorf("ask the cluster for its version: %w", err)
	}
	v.Kubernetes = info.GitVersion
	groups, err := server.ServerGroups()
	if err != nil {
		return fmt.Errorf("ask the cluster for its API groups: %w", err)
	}
	for _, g := range groups.Groups {
		if g.Name == v1alpha1.GroupVersion.Group {
			for _, version := range g.Versions {
				v.ServerAPI = append(v.ServerAPI, version.GroupVersion)
			}
		}
	}
	v.Manager, v.ManagerUnknown = managerVersion(ctx, workloads.Deployments(flyballNamespace), flyballNamespace)
	v.compare()
	return nil
}

// managerVersion returns the image tag of the manager's Deployment, or the reason why the version is unknown.
func managerVersion(ctx context.Context, deployments apps.DeploymentInterface, namespace string) (version, unknown string) {
	list, err := deployments.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=flyball"})
	switch {
	case err != nil:
		return "", err.Error()
	case len(list.Items) == 0 || len(list.Items[0].Spec.Template.Spec.Containers) == 0:
		return "", "there is no Deployment with app.kubernetes.io/name=flyball in namespace " + namespace +
			"; --flyball-namespace says where it runs"
	}
	image := list.Items[0].Spec.Template.Spec.Containers[0].Image
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") && !strings.Contains(image, "@") {
		return image[at+1:], ""
	}
	return image, ""
}

// compare adds a warning for each pair of versions that do not fit together.
func (v *Versions) compare() {
	switch {
	case len(v.ServerAPI) == 0:
		v.Warnings = append(v.Warnings, "the cluster does not serve flyball.dev: Flyball's CRDs are not installed")
	case !strings.Contains(" "+strings.Join(v.ServerAPI, " ")+" ", " "+v.ClientAPI+" "):
		v.Warnings = append(v.Warnings, fmt.Sprintf("the cluster serves %s, and this plugin speaks %s", strings.Join(v.ServerAPI, ", "),
			v.ClientAPI))
	}
	if v.Manager != "" && v.Manager != v.Client {
		v.Warnings = append(v.Warnings,
			fmt.Sprintf(
				"the manager is %s and this plugin %s: answers about the future are this plugin's, and may differ from what the manager does",
				v.Manager, v.Client))
	}
}
