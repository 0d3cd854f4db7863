package tortoise

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// recorded is a series of demands of an app, in milli-CPU. There is one demand for each sync of the autoscaler.
type recorded struct {
	name string
	// syncs has the situation at each sync.
	syncs []moment
}

// moment is the situation that the autoscaler finds at one sync.
type moment struct {
	// demand is the total usage of all ready pods. A negative value means that there are no metrics.
	demand int64
	// held is the number of pods that are not ready.
	held int
}

func during(n int, demand int64) []moment { return slices.Repeat([]moment{{demand: demand}}, n) }

// The autoscaler in the cluster has the default behaviour, except that realPeriod replaces a period of 15 s, and
// realWindow replaces a window of five minutes.
const (
	realPeriod, realWindow = time.Second, 6 * time.Second
	// unsure is the largest difference between the controller's clock and the test's clock.
	unsure = 300 * time.Millisecond
)

// theirs is the setting of the autoscaler in the cluster. A pod requests one core.
var theirs = tune.PodSetting{Min: 3, Max: 20, Target: 70}

// series covers each rule of the emulator. The pods share the demand, so each answer changes the situation at the next
// sync.
var series = []recorded{
	{"up", slices.Concat(
		during(2, 2100),  // 3 pods at the target
		during(2, 2310),  // 110 % of it: just within the tolerance
		during(3, 2340),  // just beyond
		during(4, 8000),  // more than twice
		during(3, 9828),  // 81.9 %: whole percents count
		during(2, -1),    // nothing is known
		during(4, 30000), // beyond the maximum
	)},
	{"few", during(4, 12000)}, // four more, of few
	{"down", slices.Concat(
		during(4, 14000), // up first
		during(3, 9800),  // 70 % of that, for less than the window
		during(2, 13000), // within the tolerance below
		during(12, 9800), // for longer than the window
		during(10, 100),  // to the minimum
	)},
	{"unready", slices.Concat(
		during(4, 9800),
		slices.Repeat([]moment{{9100, 4}}, 3),  // 130 % of the target, but not with those that are not ready
		slices.Repeat([]moment{{14000, 4}}, 3), // more than the target even so
		slices.Repeat([]moment{{6000, 4}}, 10), // not ready ones do not count when scaling down
	)},
}

// looked is one sync of the controller: its instant, and the situation that the controller found.
type looked struct {
	at       time.Duration
	replicas int
	reading  tune.Reading
}

// stand is one workload with an autoscaler, and the series of demands that is played to it.
type stand struct {
	recorded
	client client.Client
	done   chan struct{}

	mu    sync.Mutex
	looks []looked
	fault error
}

// TestTheControllerDecidesTheSame plays each series to the controller of Kubernetes, and lets the emulator decide about
// the situation that the controller found at each sync. Only two times differ from production. The period of the rules
// for scaling up is 1 s in place of 15 s, which is one sync, as in the emulator. The window for scaling down is 6 s in
// place of 5 min. If the age of a recommendation differs from the window by less than 0.3 s, the result depends on the
// clocks, and the sync is left out. This may happen at most twice in a series. Ready pods without metrics are not
// emulated.
func TestTheControllerDecidesTheSame(t *testing.T) {
	cluster := local.Start(t, local.Options{
		Level: local.LevelWorkloads, Log: t.Output(), ExtraControllerManagerArgs: []string{"--horizontal-pod-autoscaler-sync-period=" +
			realPeriod.String()},
	})
	c, err := client.New(cluster.Config(), client.Options{})
	must(t, err)
	env := &harness.Env{Cluster: cluster, Config: cluster.Config(), Client: c}
	stands := map[string]*stand{}
	for _, r := range series {
		stands[r.name] = &stand{recorded: r, client: c, done: make(chan struct{})}
	}
	serveMetrics(t, env, stands)
	for name := range stands {
		must(t, env.Apply(t.Context(), fmt.Appendf(nil, manifest, name, theirs.Min, theirs.Max, theirs.Target, int(realWindow.Seconds()),
			int(realPeriod.Seconds()))))
	}
	for name, s := range stands {
		select {
		case <-s.done:
		case <-time.After(2 * harness.Patience):
			t.Fatalf("%s: only %d of %d syncs; %v", name, len(s.looks), len(s.syncs), s.fault)
		}
		t.Run(name, s.compare)
	}
}

const manifest = `
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: app}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - {name: main, image: registry.example.com/app:1, resources: {requests: {cpu: "1"}}}
      - {name: side, image: registry.example.com/side:1, resources: {requests: {cpu: 100m}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {namespace: %[1]s, name: app}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: app}
  minReplicas: %[2]d
  maxReplicas: %[3]d
  metrics: [{type: ContainerResource,
             containerResource: {container: main, name: cpu, target: {type: Utilization, averageUtilization: %[4]d}}}]
  behavior:
    scaleDown: {stabilizationWindowSeconds: %[5]d, policies: [{type: Percent, value: 100, periodSeconds: %[6]d}]}
    scaleUp: {stabilizationWindowSeconds: 0, selectPolicy: Max,
              policies: [{type: Percent, value: 100, periodSeconds: %[6]d}, {type: Pods, value: 4, periodSeconds: %[6]d}]}
`

// serveMetrics serves the metrics API. Each time the controller reads it, a workload has the usage of the next moment
// in its series.
func serveMetrics(t *testing.T, env *harness.Env, stands map[string]*stand) {
	began := time.Now()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// /apis/metrics.k8s.io/v1beta1/namespaces/NAME/pods
		parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
		if len(parts) == 6 && stands[parts[4]] == nil {
			_ = json.NewEncoder(w).Encode(newList())
			return
		}
		if len(parts) != 6 {
			_,
				_ = w.Write(
				[]byte(
					`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"metrics.k8s.io/v1beta1",` +
						`"resources":[{"name":"pods","namespaced":true,"kind":"PodMetrics","verbs":["get","list"]}]}`))
			return
		}
		answer, err := stands[parts[4]].look(req.Context(), began)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	must(t, err)
	must(t, env.Apply(t.Context(), fmt.Appendf(nil, `
{apiVersion: v1, kind: Service, metadata: {namespace: kube-system, name: series},
 spec: {type: ExternalName, externalName: localhost, ports: [{name: https, port: %[1]s}]}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {namespace: kube-system, name: series, port: %[1]s}
`, at.Port())))
	must(t, harness.Poll(t.Context(), harness.Patience, func() error {
		all := &unstructured.UnstructuredList{}
		all.SetAPIVersion("metrics.k8s.io/v1beta1")
		all.SetKind("PodMetricsList")
		return env.Client.List(t.Context(), all, client.InNamespace("default"))
	}))
}

type podMetrics struct {
	Metadata   metav1.ObjectMeta  `json:"metadata"`
	Timestamp  metav1.Time        `json:"timestamp"`
	Window     metav1.Duration    `json:"window"`
	Containers []containerMetrics `json:"containers"`
}

type containerMetrics struct {
	Name  string              `json:"name"`
	Usage corev1.ResourceList `json:"usage"`
}

type podMetricsList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []podMetrics `json:"items"`
}

func newList() *podMetricsList {
	return &podMetricsList{TypeMeta: metav1.TypeMeta{APIVersion: "metrics.k8s.io/v1beta1", Kind: "PodMetricsList"}, Items: []podMetrics{}}
}

// window is the length of a measurement. The usage of a pod counts only if the pod has been ready for that long.
const window = time.Second

// look answers one read of the controller. Before, it waits until the pods are as the autoscaler has asked for.
func (s *stand) look(ctx context.Context, began time.Time) (*podMetricsList, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.looks)
	now := s.syncs[min(n, len(s.syncs)-1)]
	pods, err := s.settle(ctx, now.held)
	if err != nil {
		s.fault = err
		return nil, err
	}
	ready := len(pods) - now.held
	found := looked{at: time.Since(began), replicas: len(pods),
		reading: tune.Reading{OK: now.demand >= 0, Request: 1000, Ready: ready, Unready: now.held}}
	used := now.demand / int64(ready)
	found.reading.Usage = float64(used)
	if s.looks = append(s.looks, found); n == len(s.syncs) {
		close(s.done) // the controller has seen the answer to the last moment of the series
	}
	if now.demand < 0 {
		return nil, errors.New("there are no metrics")
	}
	list := newList()
	for _, p := range pods {
		list.Items = append(list.Items, podMetrics{
			Metadata: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}, Timestamp: metav1.Now(), Window: metav1.Duration{Duration: window},
			Containers: []containerMetrics{{"main", inMilli(used)}, {"side", inMilli(5000)}},
		})
	}
	return list, nil
}

func inMilli(milli int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)}
}

// settle waits until the wanted number of pods exists. All pods, except the pods held back, must have been ready for
// longer than the window of a measurement.
func (s *stand) settle(ctx context.Context, held int) (pods []corev1.Pod, err error) {
	err = harness.Poll(ctx, harness.Patience, func() error {
		var d appsv1.Deployment
		var list corev1.PodList
		if err := errors.Join(s.client.Get(ctx, client.ObjectKey{Namespace: s.name, Name: "app"}, &d),
			s.client.List(ctx, &list, client.InNamespace(s.name))); err != nil {
			return err
		}
		pods = list.Items
		if len(pods) != int(*d.Spec.Replicas) {
			return fmt.Errorf("%d pods of %d", len(pods), *d.Spec.Replicas)
		}
		slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
		for i := range pods {
			if err := s.as(ctx, &pods[i], i >= held); err != nil {
				return err
			}
		}
		return nil
	})
	return pods, err
}

// as makes a pod ready or not ready. It returns an error until the pod has been in this state for longer than the
// window of a measurement.
func (s *stand) as(ctx context.Context, p *corev1.Pod, ready bool) error {
	want := corev1.ConditionFalse
	if ready {
		want = corev1.ConditionTrue
	}
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		if c.Type != corev1.PodReady || p.DeletionTimestamp != nil {
			continue
		}
		if c.Status == want && time.Since(c.LastTransitionTime.Time) > window+time.Second {
			return nil
		}
		if c.Status != want && p.Status.Phase == corev1.PodRunning {
			c.Status, c.LastTransitionTime = want, metav1.Now()
			if err := s.client.Status().Update(ctx, p); err != nil {
				return err
			}
			break // the controller has to see it, too
		}
	}
	return fmt.Errorf("the pod %s is not ready %s for long enough", p.Name, want)
}

// compare lets the emulator decide about the situation that the controller found at each sync, and compares the
// resulting replicas. If a recommendation is about as old as the window, the result depends on the clocks, and the sync
// is left out.
func (s *stand) compare(t *testing.T) {
	if s.fault != nil {
		t.Error(s.fault)
	}
	sooner, later := tune.Scaler{Window: realWindow - unsure}, tune.Scaler{Window: realWindow + unsure}
	left := 0
	for i, l := range s.looks[:len(s.syncs)] {
		a, b := sooner.Sync(l.at, l.replicas, theirs, l.reading), later.Sync(l.at, l.replicas, theirs, l.reading)
		got := s.looks[i+1].replicas
		t.Logf("sync %d at %.1f s: %d replicas, %+v: %d", i, l.at.Seconds(), l.replicas, l.reading, got)
		switch {
		case a != b:
			left++
		case got != a:
			t.Errorf("sync %d: the controller goes from %d to %d, the emulator to %d", i, l.replicas, got, a)
		}
	}
	if left > 2 {
		t.Errorf("%d syncs of %d are left out", left, len(s.syncs))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
