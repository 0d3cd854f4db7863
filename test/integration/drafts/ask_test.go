package drafts

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/suite"
)

// operator acts on one Press: it keeps as many pods as the Press counts, and none while the Press is suspended.
type operator struct {
	// NeedsFalse: a suspended Press goes on only at a switch that is present and false, as in KubeRay since 1.3.0.
	NeedsFalse bool
	// Least is the count to which a lower one is raised.
	Least int64
	// Paused: pods and counts stay as they are, and the status follows the spec, as in prometheus-operator 0.93.
	Paused bool

	press     *unstructured.Unstructured
	suspended bool
	// clock goes on only while there is nothing to do, so that no operator is too slow.
	clock *clocktesting.FakeClock
}

// run acts until the context ends.
func (o *operator) run(ctx context.Context) {
	defer GinkgoRecover()
	_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if idle, err := o.act(ctx); err == nil && idle {
			o.clock.Step(time.Second)
		}
		return false, nil // an object that has changed meanwhile is read again
	})
}

// act makes one change. It reports whether there was none to make.
func (o *operator) act(ctx context.Context) (idle bool, err error) {
	press, pods := o.press.DeepCopy(), corev1.PodList{}
	if err := env.Client.Get(ctx, client.ObjectKeyFromObject(press), press); err != nil {
		return false, err
	}
	if err := env.Client.List(ctx, &pods, client.InNamespace(press.GetNamespace())); err != nil {
		return false, err
	}
	want, now := customkind.Number(press, ".spec.replicas"), int64(len(pods.Items))
	if want < o.Least {
		return false, env.Client.Patch(ctx, press, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, o.Least)),
			client.FieldOwner("lifter"))
	}
	suspend, present, _ := unstructured.NestedBool(press.Object, "spec", "suspend")
	if o.suspended = suspend || o.suspended && o.NeedsFalse && !present; o.suspended {
		want = 0
	}
	status := now
	if o.Paused {
		status, want = want, now
	}
	switch {
	case now > want:
		return false, env.Client.Delete(ctx, &pods.Items[0])
	case now < want:
		return false, env.Client.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: press.GetNamespace(), GenerateName: "press-",
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(press, press.GroupVersionKind())}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}},
		})
	case customkind.Number(press, ".status.replicas") != status:
		return false, env.Client.Status().Patch(ctx, press, client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"status":{"replicas":%d}}`, status)))
	}
	return true, nil
}

// try runs adapter try --write on the Press, by the operator's clock.
func (o *operator) try(kind customkind.Kind, spec string) (code int, out, errOut string) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "adapter.yaml")
	Expect(os.WriteFile(file, fmt.Appendf(nil, "{apiVersion: flyball.dev/v1alpha1, kind: Adapter, metadata: {name: %s}, "+
		"spec: {target: {group: %s, kind: Press, versions: [v1]}, %s}}", kind.Name(), kind.Group, spec), 0o600)).To(Succeed())
	var answers, errors bytes.Buffer
	code = cli.Run(ctx, []string{"adapter", "try", file, "press/p", "-n", o.press.GetNamespace(), "--write", "--within", "20s",
		"--kubeconfig=" + env.Cluster.Kubeconfig, "--cache-dir=" + GinkgoT().TempDir()}, factory.Env{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &answers, ErrOut: &errors}, Now: o.clock.Now,
	})
	return code, answers.String(), errors.String()
}

const (
	counted = "scale: [{name: main, replicas: .spec.replicas, default: 1, minimum: 0}], " +
		"ready: [{path: .status.replicas, default: 0, op: Eq, valueFrom: .spec.replicas}], " +
		`hold: [{set: [{path: .spec.note, value: paused}]}]`
	suspended = "suspend: [{set: [{path: .spec.suspend, value: true}]}], ready: [{path: .status.replicas, default: 0, op: Ge, value: 0}]"
	leftAlone = `, unable: [{when: [{path: .spec.note, op: Eq, value: paused}], because: its owner has paused it by .spec.note}]`
)

var asked int

var _ = DescribeTable("adapter try --write puts the object to sleep, wakes it, and tells of its operator", func(o *operator, spec string,
	code int, want ...string) {
	asked++
	kind := customkind.Kind{Group: fmt.Sprintf("asked%d.example.com", asked)}
	Expect(kind.Install(ctx, env)).To(Succeed())
	DeferCleanup(func() { Expect(kind.Remove(ctx, env)).To(Succeed()) })
	o.clock = clocktesting.NewFakeClock(time.Now())
	o.press = kind.Object(suite.Namespace(ctx, env), "p", map[string]any{"replicas": int64(2)})
	Expect(env.Client.Create(ctx, o.press.DeepCopy())).To(Succeed())
	paused := o.Paused
	o.Paused = false // it makes the pods
	Eventually(func() (bool, error) { return o.act(ctx) }).Should(BeTrue())
	o.Paused = paused
	acting, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.run(acting)
	}()
	DeferCleanup(func() {
		stop()
		<-done
	})
	got, out, errOut := o.try(kind, spec)
	Expect(errOut).To(BeEmpty())
	for _, line := range want {
		Expect(out).To(ContainSubstring(line + "\n"))
	}
	Expect(got).To(Equal(code), out)
	press := o.press.DeepCopy()
	Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(press), press)).To(Succeed())
	Expect(press.GetAnnotations()).To(BeEmpty())
	Expect(customkind.Number(press, ".spec.replicas")).To(BeEquivalentTo(2))
},
	Entry("that follows", &operator{}, counted+leftAlone, 0,
		"does anybody change the fields back? no", "do its pods end? yes, all 2", "is it settled asleep before its pods are gone? no",
		"do its pods come back? yes, all 2", "is it settled awake before its pods are there? no",
		"may it sleep while its owner pauses it? no, it is left alone: its owner has paused it by .spec.note"),
	Entry("that goes on only at false", &operator{NeedsFalse: true}, suspended, 1,
		"do its pods end? yes, all 2",
		"do its pods come back? only at .spec.suspend: false, which was absent and is left so "+
			"(in the adapter: awake: false beside the value of suspend)",
		"is it settled awake before its pods are there? yes, with 0 of 2 (in the adapter: ready)"),
	Entry("that lifts counts", &operator{Least: 1}, counted, 1,
		"does anybody change the fields back? yes, .spec.replicas is 1 and not 0, written by lifter "+
			"(in the adapter: liftsCounts, minimum, unable or follows)"),
	Entry("that is paused", &operator{Paused: true}, counted, 1,
		"do its pods end? no, 2 of 2 are there (in the adapter: unable)",
		"is it settled asleep before its pods are gone? yes, with 2 of 2 (in the adapter: ready)",
		"may it sleep while its owner pauses it? yes, by the adapter: replicas 2 -> 0; ask its operator whether the pods follow then"),
)
