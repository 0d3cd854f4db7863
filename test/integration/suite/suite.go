// Package suite has the common parts of the integration suites: their cluster, their managers, and the objects of their
// specs. Its functions fail the calling spec.
package suite

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/witness"
	"flyball.dev/flyball/test/local"
)

// Run runs the specs of a package. Eventually polls every 50 ms, for harness.Patience.
func Run(t *testing.T, name string) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(harness.Patience)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(500 * time.Millisecond)
	SetDefaultConsistentlyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, name)
}

// Up starts a cluster with the CRDs and some of the shipped adapters. The cluster stops with the suite, or with the
// container of the calling set-up.
func Up(ctx context.Context, opts local.Options, adapters ...string) *harness.Env {
	GinkgoHelper()
	if opts.Log == nil {
		opts.Log = os.Stderr
	}
	env, err := harness.Up(ctx, opts)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Cluster.Stop()).To(Succeed()) })
	if len(adapters) > 0 {
		Expect(env.InstallAdapters(ctx, adapters...)).To(Succeed())
	}
	return env
}

// Start runs a manager until the spec or the suite ends, and waits until the named adapters are ready.
func Start(ctx context.Context, env *harness.Env, opts harness.Options, adapters ...string) *harness.Manager {
	GinkgoHelper()
	if opts.Log == nil {
		opts.Log = GinkgoWriter
	}
	clock, moved := opts.Clock.(*Clock)
	if witnessed && moved {
		opts.Config = witness.Of(env, clock, namespacesOfSpec, &stories).Overhear(cmp.Or(opts.Config, env.Config))
	}
	m := env.Start(opts)
	DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
	if witnessed && moved {
		witness.Of(env, clock, namespacesOfSpec, &stories).Manages(m)
		running.mu.Lock()
		defer running.mu.Unlock()
		running.clocks = append(running.clocks, clock)
	}
	Expect(env.AwaitAdapters(ctx, adapters...)).To(Succeed())
	return m
}

// Settled returns once every manager of this process has reacted to all that is stored, and has nothing to do. Each kind has a watch
// of its own, so without it a manager may know a new object of one kind before an older one of another kind.
func Settled() {
	GinkgoHelper()
	Expect(harness.Settle(context.Background())).To(Succeed())
}

// Still checks a state once the managers are Settled.
func Still(actual any) AsyncAssertion {
	GinkgoHelper()
	Settled()
	return Consistently(actual).WithTimeout(time.Nanosecond)
}

// DuringRounds checks a state again and again while the autoscaler's controller reads the scale of a namespace's targets so many times.
// The cluster needs local.Options.Audit.
func DuringRounds(env *harness.Env, namespace string, rounds int, check func(Gomega)) {
	GinkgoHelper()
	read := func(g Gomega) int {
		all, err := env.Cluster.Audit()
		g.Expect(err).NotTo(HaveOccurred())
		n := 0
		for _, r := range all {
			if r.User.Username == "system:serviceaccount:kube-system:horizontal-pod-autoscaler" && r.Verb == "get" && r.Object != nil &&
				r.Object.Subresource == "scale" && r.Object.Namespace == namespace {
				n++
			}
		}
		return n
	}
	before := read(Default)
	Eventually(func(g Gomega) int {
		check(Default) // a failure ends the spec
		return read(g) - before
	}).Should(BeNumerically(">=", rounds))
}

var namespaces atomic.Int32

// Namespace creates a namespace for the spec, with labels given as pairs, and returns its name.
func Namespace(ctx context.Context, env *harness.Env, labels ...string) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("spec-%d", namespaces.Add(1)), Labels: map[string]string{}}}
	for i := 0; i+1 < len(labels); i += 2 {
		ns.Labels[labels[i]] = labels[i+1]
	}
	Expect(env.Client.Create(ctx, ns)).To(Succeed())
	running.mu.Lock()
	defer running.mu.Unlock()
	running.namespaces = append(running.namespaces, ns.Name)
	return ns.Name
}

// Vanished returns nil once an object does not exist.
func Vanished(ctx context.Context, env *harness.Env, obj client.Object) error {
	if err := env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return client.IgnoreNotFound(err)
	}
	return fmt.Errorf("%s is there, with finalizers %v", obj.GetName(), obj.GetFinalizers())
}

// Remove deletes an object and waits until its finalizers are gone.
func Remove(ctx context.Context, env *harness.Env, obj client.Object) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(env.Client.Delete(ctx, obj))).To(Succeed())
	Eventually(func() error { return Vanished(ctx, env, obj) }).Should(Succeed())
}

// AwaitRight waits until the API server grants a user a right on a resource, or no longer does, because it learns of a
// role only after the role was stored.
func AwaitRight(ctx context.Context, env *harness.Env, user, verb, group, resource string, allowed bool) {
	GinkgoHelper()
	Eventually(func(g Gomega) bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: []string{"system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource},
		}}
		g.Expect(env.Client.Create(ctx, review)).To(Succeed())
		return review.Status.Allowed
	}).Should(Equal(allowed), "%s %s.%s by %s", verb, resource, group, user)
}

// AwaitWebhook waits until the API server sends policies to a manager's webhook.
func AwaitWebhook(ctx context.Context, env *harness.Env) {
	GinkgoHelper()
	bad := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}}
	bad.Spec.Upscale, bad.Spec.Downscale, bad.Spec.TimeZone = "0 8 * * *", "0 20 * * *", "Nowhere/Land"
	Eventually(func() error {
		return env.Client.Create(ctx, bad.DeepCopy(),
			client.DryRunAll)
	}).Should(MatchError(ContainSubstring("spec.timeZone")))
}

// FreePort returns a loopback port, reserved until this process ends.
func FreePort() int {
	GinkgoHelper()
	return harness.FreePort(GinkgoT())
}

// RemoveAdmissionPolicy deletes a ValidatingAdmissionPolicy and its binding of the same name.
func RemoveAdmissionPolicy(ctx context.Context, env *harness.Env, name string) {
	GinkgoHelper()
	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		obj := &unstructured.Unstructured{}
		obj.SetAPIVersion("admissionregistration.k8s.io/v1")
		obj.SetKind(kind)
		obj.SetName(name)
		Expect(client.IgnoreNotFound(env.Client.Delete(ctx, obj))).To(Succeed())
	}
}
