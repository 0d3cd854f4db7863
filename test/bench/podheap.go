package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// keepingPods measures the memory per pod: in the manager's package pods, with the indexes of owners and nodes, and
// in a typed informer. Both read the same stream of JSON from a server in this process, in turns.
func (b *bench) keepingPods(ctx context.Context) error {
	server := httptest.NewServer(podServer{n: b.keptPods})
	defer server.Close()
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: k8sruntime.ContentTypeJSON}}
	var ratios []float64
	for range b.watchRounds {
		own, err := heapOfMembers(ctx, config, b.keptPods)
		if err != nil {
			return err
		}
		theirs, err := heapOfInformer(ctx, config, b.keptPods)
		if err != nil {
			return err
		}
		b.report.say("bytes a pod: %.0f kept as members, %.0f by a typed informer", own, theirs)
		ratios = append(ratios, own/theirs)
	}
	b.report.rounds("heap_per_pod_ratio", ratios)
	b.report.figure("heap_per_pod_ratio", median(ratios), "ratio")
	return nil
}

// podCluster implements pods.Cluster. Its ReplicaSets belong to Deployments.
type podCluster struct{}

// OwnerReferenceOf implements pods.Cluster.
func (podCluster) OwnerReferenceOf(ref workload.Ref) (owner *workload.OwnerReference, watched bool) {
	if ref.Kind != "ReplicaSet" || ref.Name == "" {
		return nil, true
	}
	return &workload.OwnerReference{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"},
		Name: ref.Name[:strings.LastIndex(ref.Name, "-")]}, true
}

// Ends implements pods.Cluster.
func (podCluster) Ends(schema.GroupKind) bool { return false }

// Resource implements pods.Cluster.
func (podCluster) Resource(context.Context, schema.GroupKind) (schema.GroupVersionResource, bool, error) {
	return schema.GroupVersionResource{}, false, nil
}

// settled is a members.Listener that signals when all members are known.
type settled struct {
	signalled atomic.Bool
	done      chan struct{}
}

// MembersChanged implements pods.Listener.
func (*settled) MembersChanged([]workload.Ref) {}

// MembersSettled implements pods.Listener.
func (s *settled) MembersSettled() {
	if !s.signalled.Swap(true) {
		close(s.done)
	}
}

func heapOfMembers(ctx context.Context, config *rest.Config, n int) (float64, error) {
	before := alive()
	watches, err := watch.NewManager(config)
	if err != nil {
		return 0, err
	}
	defer watches.Close()
	m := pods.New(pods.Options{Watches: watches, Cluster: podCluster{}, Own: "flyball"})
	s := &settled{done: make(chan struct{})}
	m.Observe(s)
	if err := m.Need(ctx, []string{zoneLabel}); err != nil {
		return 0, err
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after := alive()
	seen := 0
	for i := range (n + podsPerDeployment - 1) / podsPerDeployment {
		f, _ := m.Fleet(workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: namespaceOf(i),
			Name: fmt.Sprint("web-", i)})
		seen += len(f.Pods)
	}
	if seen != n {
		return 0, fmt.Errorf("the members know %d pods, want %d", seen, n)
	}
	runtime.KeepAlive(m)
	m.Drop()
	return float64(after-before) / float64(n), nil
}

func heapOfInformer(ctx context.Context, config *rest.Config, n int) (float64, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	before := alive()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return 0, fmt.Errorf("make a client: %w", err)
	}
	factory := informers.NewSharedInformerFactory(clients, 0)
	informer := factory.Core().V1().Pods().Informer()
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return 0, ctx.Err()
	}
	after := alive()
	if got := len(informer.GetStore().ListKeys()); got != n {
		return 0, fmt.Errorf("the informer knows %d pods, want %d", got, n)
	}
	stop()
	factory.Shutdown()
	return float64(after-before) / float64(n), nil
}

// podServer serves the watches of n pods and of their nodes.
type podServer struct{ n int }

const podsPerDeployment = 20

func namespaceOf(deployment int) string { return fmt.Sprint("team-", deployment%100) }

// ServeHTTP implements http.Handler.
func (p podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, n, object := "Pod", p.n, func(i int) any { return storedPod(i) }
	if strings.HasSuffix(r.URL.Path, "/nodes") {
		kind, n, object = "Node", podNodes, func(i int) any { return storedNode(i) }
	}
	if r.URL.Query().Get("watch") == "" {
		http.Error(w, "this server only streams", http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	event := func(kind string, object any) { _ = out.Encode(map[string]any{"type": kind, "object": object}) }
	for i := range n {
		event("ADDED", object(i))
	}
	event("BOOKMARK", map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{
		"resourceVersion": "900000", "annotations": map[string]string{metav1.InitialEventsAnnotationKey: "true"}}})
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func storedNode(i int) *corev1.Node {
	return &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i), UID: types.UID(fmt.Sprint("n", i)), ResourceVersion: fmt.Sprint(i + 1),
			Labels: map[string]string{zoneLabel: fmt.Sprint("zone-", i%3), "kubernetes.io/hostname": fmt.Sprint("node-", i)}}}
}

// storedPod returns a pod of a small web service as an API server keeps it: one container with probes, the usual volume
// and tolerations, conditions and managed fields.
func storedPod(i int) *corev1.Pod {
	d := i / podsPerDeployment
	at := metav1.NewTime(time.Unix(1_770_000_000+int64(i), 0))
	name := fmt.Sprintf("web-%d-5d8f7c9b64-%05x", d, i)
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Scheme: "HTTP"}},
		TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{
		Name: name, GenerateName: fmt.Sprintf("web-%d-5d8f7c9b64-", d), Namespace: namespaceOf(d),
		UID:             types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)),
		ResourceVersion: fmt.Sprint(100_000 + i), CreationTimestamp: at,
		Labels: map[string]string{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": fmt.Sprint("web-", d),
			"pod-template-hash": "5d8f7c9b64"},
		Annotations: map[string]string{workload.CostAnnotation: fmt.Sprint(-(i % podsPerDeployment))},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("web-%d-5d8f7c9b64", d),
			UID: types.UID(fmt.Sprintf("%08x-0000-4000-9000-%012x", d, d)), Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}},
	}}
	pod.Spec = podSpec(fmt.Sprint("node-", i%podNodes))
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"},
		{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}}
	pod.Spec.Containers[0].LivenessProbe, pod.Spec.Containers[0].ReadinessProbe = probe, probe
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "kube-api-access", ReadOnly: true,
		MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access",
		VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr.To[int64](3607), Path: "token"}}}}}}}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute",
		TolerationSeconds: ptr.To[int64](300)},
		{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr.To[int64](300)}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: "10.244.0.1", StartTime: &at,
		QOSClass: corev1.PodQOSBestEffort}
	for _, kind := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Ready: true, Image: "example.com/app:1",
		ImageID:     "example.com/app@sha256:" + strings.Repeat("0", 64),
		ContainerID: "containerd://" + strings.Repeat("0", 64),
		State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}}}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kube-controller-manager", Operation: "Update", APIVersion: "v1", Time: &at, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(podFields)},
		{Manager: "kubelet", Operation: "Update", APIVersion: "v1", Time: &at, FieldsType: "FieldsV1", Subresource: "status",
			FieldsV1: metav1.NewFieldsV1(statusFields)},
		{Manager: "flyball", Operation: "Update", APIVersion: "v1", Time: &at, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{".":{},"f:` + workload.CostAnnotation + `":{}}}}`)},
	}
	return pod
}

const (
	podFields = `{"f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/instance":{},"f:app.kubernetes.io/name":{},` +
		`"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"x\"}":{}}},` +
		`"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:env":{".":{}},"f:image":{},"f:imagePullPolicy":{},` +
		`"f:livenessProbe":{".":{},"f:httpGet":{}},"f:name":{},"f:readinessProbe":{".":{},"f:httpGet":{}},"f:resources":{}}},` +
		`"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},` +
		`"f:terminationGracePeriodSeconds":{}}}`
	statusFields = `{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},` +
		`"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},` +
		`"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},` +
		`"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.244.0.1\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`
)
