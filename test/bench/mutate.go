package main

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-logr/logr"
	dto "github.com/prometheus/client_model/go"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/path/rawjson"

	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/tuning/resize"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/harness"
)

// These are the namespaces in which pods are created. Our webhook changes the pods of the first namespace, a webhook
// with a fixed answer changes the pods of the second, and nothing changes the pods of the third.
const (
	mutated, fixed, unmutated = "bench-mutated", "bench-fixed", "bench-unmutated"
	mutatedPolicy             = "bench"
	// deploymentUID is the UID of a Deployment that does not exist.
	deploymentUID types.UID = "1"
)

// mutating measures the creation of pods through the API server in three namespaces: with our webhook, with a webhook
// that gives the same answer for all pods, and without a webhook. The second namespace shows the minimum cost of any
// webhook that changes a pod. Pods are created in dry runs, with full admission but no storage. They are created one at
// a time, so that no pod waits for another, and in turns, so that other load on the machine affects all namespaces
// equally. The figures are differences of percentiles. Percentiles of differences between neighbours would contain the
// pauses of both.
func (b *bench) mutating(ctx context.Context) (err error) {
	// The API server of the benchmark has the same setting (test/cluster), because such a small heap would otherwise be
	// collected often.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	s, err := b.stage(ctx)
	if err != nil {
		return err
	}
	replicaSet, err := s.tune(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	handler, err := s.newPods(ctx)
	if err != nil {
		return err
	}
	// As in the manager, the handler is behind the limits of all admission reviews.
	for ns, h := range map[string]http.Handler{mutated: review.New(handler, logr.Discard()), fixed: http.HandlerFunc(sameForAll)} {
		server := httptest.NewTLSServer(h) // HTTP/1.1, as API servers use with Services
		defer server.Close()
		remove, failed := s.mutatedBy(ctx, ns, server)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	create := func(namespace string) func() error {
		return func() error { return s.createPod(ctx, namespace, replicaSet[namespace]) }
	}
	for _, ns := range []string{mutated, fixed} {
		if err := harness.Poll(ctx, harness.Patience, create(ns)); err != nil {
			return fmt.Errorf("wait for the webhook of %s: %w", ns, err)
		}
	}
	if err := b.mutations(create); err != nil {
		return err
	}
	return s.sayMutated(ctx)
}

// mutations measures the figures, with a function that creates a pod in a namespace.
func (b *bench) mutations(create func(namespace string) func() error) error {
	var own, floor, added, ratio []float64
	for round := 0; b.again(b.admitRounds, added, ratio); round++ {
		of, err := oneByOne(b.updatesJudged, create(mutated), create(fixed), create(unmutated))
		if err != nil {
			return err
		}
		if round == 0 {
			continue // connections and caches are warm now
		}
		mine, same, bare := of[0], of[1], of[2]
		b.report.say("%d pods, changed: median %.2f ms, p99 %.2f ms; by a webhook that decides nothing: %.2f and %.2f ms; as they are: %.2f "+
			"and %.2f ms",
			len(mine.each), mine.quantile(50), mine.p99(), same.quantile(50), same.p99(), bare.quantile(50), bare.p99())
		own, added, ratio = append(own, mine.p99()-same.p99()), append(added, mine.p99()-bare.p99()), append(ratio, mine.p99()/same.p99())
		floor = append(floor, same.p99()-bare.p99())
	}
	b.report.rounds("mutate_own_p99_ms", own)
	b.report.rounds("mutate_added_p99_ms", added)
	b.report.rounds("mutate_floor_p99_ms", floor)
	b.report.rounds("mutate_p99_ratio", ratio)
	b.report.figure("mutate_own_p99_ms", median(own), "ms")
	b.report.figure("mutate_added_p99_ms", median(added), "ms")
	b.report.figure("mutate_floor_p99_ms", median(floor), "ms")
	b.report.figure("mutate_p99_ratio", median(ratio), "ratio")
	return nil
}

// fixedPatch is our webhook's answer for the pods of the benchmark: their requests, the limit by its ratio, two
// variables, and the annotation with the policy.
const fixedPatch = `[{"op":"replace","path":"/spec/containers/0/resources/requests/cpu","value":"250m"},` +
	`{"op":"replace","path":"/spec/containers/0/resources/requests/memory","value":"64Mi"},` +
	`{"op":"replace","path":"/spec/containers/0/resources/limits/memory","value":"128Mi"},` +
	`{"op":"add","path":"/spec/containers/0/env","value":[{"name":"GOMAXPROCS","value":"1"},{"name":"GOMEMLIMIT","value":"120795930"}]},` +
	`{"op":"add","path":"/metadata/annotations","value":{"flyball.dev/tuned-by":"Tortoise/bench-mutated/bench"}}]`

// sameForAll is the cheapest webhook that changes pods. It reads only the UID of a review.
func sameForAll(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true,"patchType":"JSONPatch","patch":%q}}`,
		rawjson.GetBytes(body, "request.uid").Str, base64.StdEncoding.EncodeToString([]byte(fixedPatch)))
}

// sayMutated prints the time of our webhook as the API server measures it. This time includes sending the review,
// waiting, and applying the patch.
func (s *stage) sayMutated(ctx context.Context) error {
	counted, err := s.metrics(ctx, "apiserver_admission_webhook_admission_duration_seconds")
	if err != nil {
		return err
	}
	for _, m := range counted {
		h := m.GetHistogram()
		if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == register.PodsWebhookName }) ||
			h.GetSampleCount() == 0 {
			continue
		}
		n, least := float64(h.GetSampleCount()), h.GetBucket()[0]
		s.report.say("by the API server's own count the webhook took %.2f ms on average of %.0f pods; %.2f %% took at most %.0f ms",
			h.GetSampleSum()/n*1000, n, float64(least.GetCumulativeCount())/n*100, least.GetUpperBound()*1000)
	}
	return nil
}

// oneByOne calls each function n times and records each duration. It makes one call at a time and in turns, so that
// other load on the machine affects all functions equally. The order of the functions rotates.
func oneByOne(n int, do ...func() error) ([]durations, error) {
	of := make([]durations, len(do))
	collect()
	for i := range n {
		for j := range do {
			kind := (i + j) % len(do)
			began := time.Now()
			if err := do[kind](); err != nil {
				return nil, err
			}
			took := time.Since(began)
			of[kind].add(durations{each: []time.Duration{took}, took: took})
		}
	}
	return of, nil
}

// tune creates the namespaces, each with a ReplicaSet of a Deployment, and the recommendation for the first namespace.
// It returns the UIDs of the ReplicaSets by namespace.
func (s *stage) tune(ctx context.Context) (map[string]types.UID, error) {
	sets := map[string]types.UID{}
	for _, ns := range []string{mutated, fixed, unmutated} {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "default"}}
		for _, obj := range []client.Object{space, account} {
			if err := s.env.Client.Create(ctx, obj); err != nil && !apierrors.IsAlreadyExists(err) {
				return nil, fmt.Errorf("prepare the namespace %s: %w", ns, err)
			}
		}
		set := replicaSetOf(ns)
		if err := s.env.Client.Create(ctx, set); err != nil {
			return nil, fmt.Errorf("create a ReplicaSet: %w", err)
		}
		sets[ns] = set.UID
	}
	ref := workload.Ref{Namespace: mutated, Name: "web"}
	ref.Group, ref.Kind = "apps", "Deployment"
	told := &v1alpha1.Recommendation{ObjectMeta: metav1.ObjectMeta{Namespace: mutated, Name: workload.CompanionName(ref),
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: deploymentUID}}}, Spec: v1alpha1.RecommendationSpec{
		Target: v1alpha1.TunedTarget{Group: ref.Group, Kind: ref.Kind, Name: ref.Name}, Policy: "Tortoise/" + mutated + "/" + mutatedPolicy,
	}}
	if err := s.env.Client.Create(ctx, told); err != nil {
		return nil, fmt.Errorf("create a Recommendation: %w", err)
	}
	told.Status.NewPods = &v1alpha1.NewPods{GoMaxProcs: true, GoMemLimit: true, Containers: []v1alpha1.NewContainer{
		{Name: "main", CPU: ptr.To(resource.MustParse("250m")), Memory: ptr.To(resource.MustParse("64Mi"))},
	}}
	if err := s.env.Client.Status().Update(ctx, told); err != nil {
		return nil, fmt.Errorf("write a Recommendation: %w", err)
	}
	return sets, nil
}

// newPods returns the webhook for new pods, with its watches.
func (s *stage) newPods(ctx context.Context) (*resize.Handler, error) {
	w := world.New(world.Scope("flyball-system", nil))
	kind, _ := kinds.Find("Tortoise")
	policy := &v1alpha1.Tortoise{ObjectMeta: metav1.ObjectMeta{Namespace: mutated, Name: mutatedPolicy,
		Finalizers: []string{v1alpha1.FinalizerRestore}}}
	policy.Spec.Mode = v1alpha1.TortoiseAuto
	w.Update(func(tx *world.Tx) { tx.SetPolicy(kind, policy) })
	w.MarkLoaded()
	watches, err := watch.NewManager(s.env.Config)
	if err != nil {
		return nil, err
	}
	o := pods.Options{Watches: watches, Cluster: replicaSets{}, Log: logr.Discard()}
	index := resize.NewIndex(resize.IndexOptions{World: w, Watches: watches,
		OwnerReferences: pods.NewOwnerReferences(o), Clock: clock.RealClock{},
		Log: logr.Discard()})
	go func() { _ = index.Start(ctx) }() // it ends with the context
	return &resize.Handler{Wants: index, Note: func(resize.Result) {}, Log: logr.Discard()}, nil
}

// replicaSets implements the interface Cluster of package pods, with ReplicaSets only.
type replicaSets struct{}

func (replicaSets) OwnerReferenceOf(workload.Ref) (*workload.OwnerReference, bool) { return nil, false }
func (replicaSets) Ends(schema.GroupKind) bool                                     { return false }
func (replicaSets) Resource(_ context.Context, gk schema.GroupKind) (schema.GroupVersionResource, bool, error) {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, gk.Kind == "ReplicaSet", nil
}

// mutatedBy makes the API server send pods of one namespace to a server on this machine, until remove is called.
func (s *stage) mutatedBy(ctx context.Context, namespace string, server *httptest.Server) (remove func() error, err error) {
	url := server.URL + register.PodsPath
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := register.PodsConfiguration(admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle}, []string{namespace},
		nil)
	if namespace != mutated {
		config.Name, config.Webhooks[0].Name = namespace, namespace+".flyball.dev"
	}
	configs := s.clients.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := configs.Create(ctx, config, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create the webhook configuration: %w", err)
	}
	return func() error { return configs.Delete(context.WithoutCancel(ctx), config.Name, metav1.DeleteOptions{}) }, nil
}

// createPod creates a pod of a ReplicaSet in a dry run, and checks whether it was changed.
func (s *stage) createPod(ctx context.Context, namespace string, owner types.UID) error {
	pod, err := s.clients.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-1-", Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: owner, Controller: ptr.To(true)}}},
		Spec: mutatedSpec(),
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fmt.Errorf("create a pod: %w", err)
	}
	if changed := pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() == 250; changed != (namespace != unmutated) {
		return fmt.Errorf("a pod of %s was changed: %t", namespace, changed)
	}
	return nil
}

// replicaSetOf returns a ReplicaSet of a Deployment web that does not exist, because no controller runs.
func replicaSetOf(namespace string) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-1", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: deploymentUID, Controller: ptr.To(true)}}},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: mutatedSpec()}},
	}
}

func mutatedSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")},
	}}}}
}
