package ui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/status"
)

// InClusterOptions are the flags of ui in-cluster.
type InClusterOptions struct {
	*factory.Factory
	factory.Rates
	listen            string
	certFile, keyFile string
	readOnly          bool

	rates status.Rates
}

// requestsOfPerson is the number of requests of one person per second. A burst has ten times as many.
const requestsOfPerson = 20

func newInCluster(f *factory.Factory) *cobra.Command {
	o := &InClusterOptions{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "in-cluster",
		Short: "Serve the pages to many people, each with a token of their own",
		Long: `Serves the pages of kubectl flyball ui to everybody who has a token of the cluster: from a proxy in the header Authorization, or
pasted into a form and kept in a cookie. Everything is read and written with this token, so the API server decides about everything.

The server itself needs only the right to create tokenreviews.`,
		Example: "  kubectl flyball ui in-cluster --listen :8443 --tls-cert-file tls.crt --tls-private-key-file tls.key",
		Args:    cobra.NoArgs,
	})
	cmd.Flags().StringVar(&o.listen, "listen", ":8443", "Address to serve on")
	cmd.Flags().StringVar(&o.certFile, "tls-cert-file", "", "File with the certificate; required")
	cmd.Flags().StringVar(&o.keyFile, "tls-private-key-file", "", "File with its key; required")
	o.AddRates(cmd)
	cmd.Flags().BoolVar(&o.readOnly, "read-only", false, "Offer no action, and refuse all")
	return cmd
}

// Complete implements factory.Verb.
func (o *InClusterOptions) Complete([]string) error { return nil }

// Validate implements factory.Verb.
func (o *InClusterOptions) Validate() (err error) {
	switch {
	case o.Offline():
		return errors.New("--offline: the pages for many people need a cluster that knows their tokens")
	case o.certFile == "" || o.keyFile == "":
		return errors.New("give --tls-cert-file and --tls-private-key-file: people send tokens, which nobody else may read")
	}
	o.rates, err = o.ParseRates()
	return err
}

// Run serves the pages until the context ends.
func (o *InClusterOptions) Run(ctx context.Context) error {
	own, err := o.RestConfig()
	if err != nil {
		return err
	}
	clients, err := authentication.NewForConfig(own)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	gate := evaluate.NewCallers(evaluate.CallerOptions{Tokens: clients.TokenReviews(), Rate: requestsOfPerson, Pace: clock.RealClock{},
		Impersonation: "the pages show and do only things that the token itself may do"})
	pages := NewPeopleServer(gate.Admit,
		func(token, namespace string, user *authenticationv1.UserInfo) (ServerOptions, error) {
			cluster, err := clusterOf(withToken(own, token), o.FlyballNamespace)
			if err != nil {
				return ServerOptions{}, err
			}
			so := ServerOptions{Now: o.Now, Zone: o.Zone, Namespace: namespace, FlyballNamespace: o.FlyballNamespace, Live: true,
				ClusterName: "This cluster", Manager: factory.FieldManager, Rates: o.rates,
				Load: func(ctx context.Context) (*source.World, error) {
					return cluster.Load(ctx, source.Query{Namespace: namespace})
				},
				User: func(context.Context) (evaluate.User, error) {
					return evaluate.User{Name: user.Username, Groups: user.Groups}, nil
				}}
			if !o.readOnly {
				so.Cluster = func() (source.Cluster, error) { return cluster, nil }
			}
			return so, nil
		}, o.Now)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	_, _ = fmt.Fprintln(o.Out, "https://"+l.Addr().String())
	return pages.Listen(ctx, l, o.certFile, o.keyFile)
}

// withToken returns the configuration for the same API server with a token in place of every other credential.
func withToken(own *rest.Config, token string) *rest.Config {
	c := rest.AnonymousClientConfig(own)
	c.BearerToken = token
	return c
}

// clusterOf returns a reader of a cluster that uses nothing of this process but the configuration.
func clusterOf(config *rest.Config, flyballNamespace string) (source.Cluster, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return source.Cluster{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return source.Cluster{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return source.Cluster{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	return source.Cluster{Client: client, Metadata: objects, FlyballNamespace: flyballNamespace, Now: time.Now,
		Mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}
