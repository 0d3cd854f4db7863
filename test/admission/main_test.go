package admission_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/register"
	reviews "flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/admission/serve"
	"flyball.dev/flyball/test/await"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// api is the API server of all tests of this package, with Flyball's CRDs.
var api *local.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrllog.SetLogger(ctrllog.Log.WithSink(ctrllog.NullLogSink{}))
	if address := os.Getenv(aloneEnv); address != "" {
		if err := serveAlone(address); err != nil {
			fmt.Fprintln(os.Stderr, "serve:", err)
			return 1
		}
		return 0
	}
	flag.Parse()
	if worker := flag.Lookup("test.fuzzworker"); worker != nil && worker.Value.String() == "true" {
		return m.Run() // a process that only tries fuzz inputs
	}
	cluster, err := local.Up(context.Background(), local.Options{Level: local.LevelAPI})
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the cluster:", err)
		return 1
	}
	defer func() { _ = cluster.Stop() }()
	api = cluster
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "prepare the cluster:", err)
		return 1
	}
	return m.Run()
}

// prepare installs Flyball's CRDs, its namespace, and the rights of the test users: everybody may write adapters and
// calendars, sre may patch deployments everywhere, and bob in one namespace.
func prepare(ctx context.Context) error {
	crds, err := apiextensionsclient.NewForConfig(api.Config())
	if err != nil {
		return err
	}
	files, err := filepath.Glob("../../crds/*.yaml")
	if err != nil || len(files) == 0 {
		return fmt.Errorf("find the CRDs: %d files, %w", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(raw, crd); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if _, err := crds.CustomResourceDefinitions().Create(ctx, crd, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	clients := kubernetes.NewForConfigOrDie(api.Config())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "flyball-system"}}
	if _, err := clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	patch := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"patch"}}
	return errors.Join(
		bind(ctx, clients, "writers", []string{"developers", "sre"}, rbacv1.PolicyRule{
			APIGroups: []string{"flyball.dev"}, Resources: []string{"adapters", "adapters/status", "calendars"}, Verbs: []string{"*"},
		}),
		bind(ctx, clients, "patchers", []string{"sre"}, patch, rbacv1.PolicyRule{
			APIGroups: []string{"argoproj.io"}, Resources: []string{"rollouts"}, Verbs: []string{"patch"},
		}),
		bindIn(ctx, clients, "default", "patchers", "oncall", patch),
	)
}

func bind(ctx context.Context, clients kubernetes.Interface, name string, groups []string, rules ...rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Name: "admit-test-" + name}
	if _, err := clients.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules},
		metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}}
	for _, group := range groups {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group})
	}
	_, err := clients.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	return err
}

func bindIn(ctx context.Context, clients kubernetes.Interface, namespace, name, group string, rules ...rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "admit-test-" + name}
	if _, err := clients.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules},
		metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := clients.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group}},
	}, metav1.CreateOptions{})
	return err
}

// discovered implements rights.Resources by the API server's discovery.
type discovered struct{ client discovery.DiscoveryInterface }

func (d discovered) Resource(_ context.Context, kind schema.GroupKind) (string, error) {
	list, err := d.client.ServerResourcesForGroupVersion(kind.WithVersion("v1").GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, r := range list.APIResources {
		if r.Kind == kind.Kind {
			return r.Name, nil
		}
	}
	return "", nil
}

func adapters(t *testing.T) reviews.OwnKind {
	t.Helper()
	clients := kubernetes.NewForConfigOrDie(api.Config())
	return reviews.OwnKind{Kind: "Adapter", Resource: "adapters", Validator: rights.Adapters{
		Resources: discovered{clients.Discovery()},
		Reviews:   clients.AuthorizationV1().SubjectAccessReviews(),
	}}
}

// options returns the options of a server on a free local port that keeps its own configuration.
func options(t *testing.T, kinds ...reviews.OwnKind) serve.Options {
	t.Helper()
	port := harness.FreePort(t)
	return serve.Options{
		Host: "127.0.0.1", Port: port,
		Endpoint:         register.Endpoint{URL: fmt.Sprintf("https://127.0.0.1:%d", port)},
		Kinds:            kinds,
		Secret:           types.NamespacedName{Namespace: "flyball-system", Name: "webhook-" + objectName(t)},
		OwnConfiguration: "flyball-" + objectName(t),
		Keeper:           keeper(t),
		Log:              testr.New(t),
	}
}

// keeper returns a keeper of webhook configurations and admission policies.
func keeper(t *testing.T) *register.Registrar {
	t.Helper()
	k, err := register.NewRegistrar(api.Config(), testr.New(t))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// objectName returns the test's name as an object name.
func objectName(t *testing.T) string {
	var name []byte
	for _, c := range []byte(t.Name()) {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c >= 'a' && c <= 'z' {
			name = append(name, c)
		}
	}
	return string(name)
}

// start runs a server until the end of the test, or until the returned function is called, and waits until it is ready.
func start(t *testing.T, opts serve.Options) (*serve.Server, func()) {
	t.Helper()
	server, err := serve.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	stop := serving(t, server, opts)
	eventually(t, "ready", func() error { return server.Ready(&http.Request{}) })
	return server, stop
}

// serving runs a server until the end of the test, or until the returned function is called. The server's configurations
// are removed before it stops, so that no request of the next test reaches a dead webhook, and once more afterwards,
// because a running server restores them.
func serving(t *testing.T, server *serve.Server, opts serve.Options) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Start: %v", err)
		}
	}
	t.Cleanup(func() {
		removeConfigurations(t, opts)
		stop()
		removeConfigurations(t, opts)
	})
	return stop
}

func removeConfigurations(t *testing.T, opts serve.Options) {
	configurations := kubernetes.NewForConfigOrDie(api.Config()).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	for _, name := range []string{register.FreezeConfigurationName, opts.OwnConfiguration} {
		if name == "" {
			continue
		}
		if err := configurations.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("remove the configuration %s: %v", name, err)
		}
	}
}

// as returns a client of Flyball's kinds for a user.
func as(t *testing.T, user string) client.Client {
	t.Helper()
	return clientFor(t, api.ConfigFor(user))
}

func clientFor(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// read returns an adapter with a given spec.
func read(t *testing.T, name, spec string) *v1alpha1.Adapter {
	t.Helper()
	a := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &a.Spec); err != nil {
		t.Fatal(err)
	}
	return a
}

// eventually retries until there is no error, for at most a minute.
func eventually(t *testing.T, condition string, try func() error) {
	t.Helper()
	await.NoError(t, condition, try)
}

// active waits until the API server sends adapters to the server.
func active(t *testing.T) {
	t.Helper()
	eventually(t, "the API server calls the webhook", func() error {
		bad := read(t, "deployments.apps", `{target: {group: apps, kind: Deployment, versions: [v1]}, scale: [{name: a, replicas: "..x"}]}`)
		err := as(t, "admin").Create(t.Context(), bad, client.DryRunAll)
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("a broken adapter is answered with: %w", errors.Join(err, errors.New("no refusal")))
		}
		return nil
	})
}
