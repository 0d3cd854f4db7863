package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"flyball.dev/flyball/crds/v1alpha1"
)

// openMine uses the cluster of KUBECONFIG. It refuses a cluster with Flyball, because the demo's manager would apply
// that cluster's policies by the demo's clock.
func openMine(ctx context.Context, root string, yes bool, s *screen) (*place, error) {
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		return nil, errors.New("--use-kubeconfig needs KUBECONFIG to be set")
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return nil, fmt.Errorf("the demo installs everything with kubectl: %w", err)
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{Precedence: strings.Split(kubeconfig, string(os.PathListSeparator))}, nil)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("load KUBECONFIG %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	if err := free(ctx, client); err != nil {
		return nil, err
	}
	if err := confirm(ctx, config.Host, yes, s); err != nil {
		return nil, err
	}
	return &place{config: config, kubectl: kubectl, kubeconfig: kubeconfig, root: root}, nil
}

// free returns an error if the cluster has Flyball or the demo's namespace.
func free(ctx context.Context, client kubernetes.Interface) error {
	has, err := serves(client.Discovery(), v1alpha1.GroupVersion.String())
	if err != nil {
		return err
	}
	if has {
		return fmt.Errorf("flyball is installed in this cluster (it serves %s); the demo brings its own and would move the policies there "+
			"by its clock, so it leaves that cluster alone", v1alpha1.GroupVersion)
	}
	switch _, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("look for the namespace %s: %w", namespace, err)
	default:
		return fmt.Errorf("the namespace %s exists already; remove it first", namespace)
	}
}

// serves reports whether the API server has a group and version.
func serves(client discovery.DiscoveryInterface, groupVersion string) (bool, error) {
	switch _, err := client.ServerResourcesForGroupVersion(groupVersion); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask for %s: %w", groupVersion, err)
	default:
		return true, nil
	}
}

func confirm(ctx context.Context, host string, yes bool, s *screen) error {
	s.printf("     The demo will use the cluster at %s.\n"+
		"     It makes the namespace %s, Flyball's CRDs and adapters, and\n"+
		"     small CRDs for kinds that are missing; at the end it removes all of it.\n", host, namespace)
	if yes {
		return nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return errors.New("nobody is there to confirm; use --yes")
	}
	s.printf("     Go on? [y/N] ")
	answers := make(chan string, 1)
	go func() {
		// An unreadable answer counts as no.
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case answer := <-answers:
		if answer != "y" && answer != "yes" {
			return errors.New("not confirmed; nothing was changed")
		}
		return nil
	}
}
