package tuning

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

var noon = time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)

// pod is a pod that became ready some time before noon.
func pod(name string, ready time.Duration, containers ...workload.Container) *workload.Pod {
	return &workload.Pod{Namespace: "shop", Name: name, UID: name, Ready: true, Changed: noon.Add(-ready).Unix(), Containers: containers}
}

func unready(p *workload.Pod) *workload.Pod {
	p.Ready = false
	return p
}

func used(stamp string, cpu, memory float64) measure.Pod {
	return measure.Pod{Stamp: stamp, Containers: []measure.Container{{Name: "app", MilliCPU: cpu, MemoryBytes: memory}}}
}

func at(pods map[string]measure.Pod) map[types.NamespacedName]measure.Pod {
	all := map[types.NamespacedName]measure.Pod{}
	for name, p := range pods {
		all[types.NamespacedName{Namespace: "shop", Name: name}] = p
	}
	return all
}

// TestMeasurementBecomesSamples: the samples of a measurement.
func TestMeasurementBecomesSamples(t *testing.T) {
	hour := noon.Add(-time.Hour).Unix()
	killed := workload.Container{Name: "app", Resources: workload.Resources{MemoryLimit: 1 << 30}, KilledAt: noon.Unix()}
	long := killed
	long.KilledAt = hour - 1
	sample := func(s workload.Sample) workload.Sample {
		s.At, s.Container = noon, "app"
		return s
	}
	for _, tc := range []struct {
		reason   string
		pods     []*workload.Pod
		measured map[string]measure.Pod
		before   map[string]string
		want     []workload.Sample
	}{
		{"the mean of CPU, the largest memory", []*workload.Pod{pod("a", time.Hour), pod("b", time.Hour)},
			map[string]measure.Pod{"a": used("1", 100, 5), "b": used("1", 300, 7)}, nil,
			[]workload.Sample{sample(workload.Sample{CPU: 200, Memory: 7, Replicas: 2})}},
		{"a pod that is not measured yet counts as a replica", []*workload.Pod{pod("a", time.Hour), pod("b", time.Hour)},
			map[string]measure.Pod{"a": used("1", 100, 5)}, nil,
			[]workload.Sample{sample(workload.Sample{CPU: 100, Memory: 5, Replicas: 2})}},
		{"a pod that is not ready does not count", []*workload.Pod{pod("a", time.Hour), unready(pod("b", time.Hour))},
			map[string]measure.Pod{"a": used("1", 100, 5), "b": used("1", 900, 9)}, nil,
			[]workload.Sample{sample(workload.Sample{CPU: 100, Memory: 5, Replicas: 1})}},
		{"one that is starting counts as a replica, and what it uses does not", []*workload.Pod{pod("a", time.Hour), pod("b", 29*time.Second)},
			map[string]measure.Pod{"a": used("1", 100, 5), "b": used("1", 900, 9)}, nil,
			[]workload.Sample{sample(workload.Sample{CPU: 100, Memory: 5, Replicas: 2})}},
		{"after thirty seconds it does", []*workload.Pod{pod("a", 30*time.Second)}, map[string]measure.Pod{"a": used("1", 100, 5)}, nil,
			[]workload.Sample{sample(workload.Sample{CPU: 100, Memory: 5, Replicas: 1})}},
		{"where all are starting, that is said", []*workload.Pod{pod("a", time.Second)}, map[string]measure.Pod{"a": used("1", 100, 5)}, nil,
			[]workload.Sample{sample(workload.Sample{CPU: 100, Memory: 5, Replicas: 1, Starting: true})}},
		{"the same measurement again is none", []*workload.Pod{pod("a", time.Hour)}, map[string]measure.Pod{"a": used("1", 100, 5)},
			map[string]string{"a": "1"}, nil},
		{"one newer measurement is enough", []*workload.Pod{pod("a", time.Hour), pod("b", time.Hour)},
			map[string]measure.Pod{"a": used("1", 100, 5), "b": used("2", 100, 5)},
			map[string]string{"a": "1", "b": "1"}, []workload.Sample{sample(workload.Sample{CPU: 100, Memory: 5, Replicas: 2})}},
		{"a pod of which the server does not say the CPU does not make the others smaller",
			[]*workload.Pod{pod("a", time.Hour), pod("b", time.Hour)},
			map[string]measure.Pod{"a": used("1", 100, 5), "b": used("1", -1, 7)}, nil,
			[]workload.Sample{sample(workload.Sample{CPU: 100, Memory: 7, Replicas: 2})}},
		{"nor does one of which it does not say the memory", []*workload.Pod{pod("a", time.Hour)}, map[string]measure.Pod{"a": used("1", 100,
			-1)},
			nil,
			[]workload.Sample{sample(workload.Sample{CPU: 100, Memory: -1, Replicas: 1})}},
		{"where it says neither, that is no measurement", []*workload.Pod{pod("a", time.Hour)}, map[string]measure.Pod{"a": used("1", -1, -1)},
			nil,
			nil},
		{"no measurement", []*workload.Pod{pod("a", time.Hour)}, nil, nil, nil},
		{"a kill counts without one", []*workload.Pod{unready(pod("a", time.Hour, killed))}, nil, nil,
			[]workload.Sample{sample(workload.Sample{CPU: -1, Memory: -1, OOMKills: 1, MemoryLimit: 1 << 30})}},
		{"one of long ago does not", []*workload.Pod{pod("a", time.Hour, long)}, nil, nil, nil},
	} {
		x := &subject{stamps: tc.before, killed: hour}
		got := x.samples(noon, noon, &workload.Fleet{Pods: tc.pods}, at(tc.measured))
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
		for _, s := range x.samples(noon, noon, &workload.Fleet{Pods: tc.pods}, at(tc.measured)) {
			t.Errorf("%s: looking again gives %+v", tc.reason, s)
		}
	}
}

// TestStartTimeOfAPodIsCountedOnce: the start time of a pod is counted once, and only for pods created while the
// manager runs.
func TestStartTimeOfAPodIsCountedOnce(t *testing.T) {
	born := noon.Unix()
	pod := func(name string, created, ready int64) *workload.Pod {
		return &workload.Pod{Name: name, UID: name, Ready: true, Created: born + created, Changed: born + ready}
	}
	x := &subject{born: born, starts: map[string]bool{}}
	for _, step := range []struct {
		reason string
		pods   []*workload.Pod
		want   []time.Duration
	}{
		{"older pods say nothing, those that are not ready nothing yet",
			[]*workload.Pod{pod("old", -1, 300), pod("a", 0, 20), unready(pod("c", 5, 0))}, []time.Duration{20 * time.Second}},
		{"again it says nothing", []*workload.Pod{pod("old", -1, 300), pod("a", 0, 20), unready(pod("c", 5, 0))}, nil},
		{"ready it does", []*workload.Pod{pod("a", 0, 20), pod("c", 5, 95)}, []time.Duration{90 * time.Second}},
		{"one that was ready and is not counts no more", []*workload.Pod{unready(pod("a", 0, 400)), pod("c", 5, 95)}, nil},
		{"nor when it is ready again", []*workload.Pod{pod("a", 0, 500), pod("c", 5, 95)}, nil},
		{"clocks that run backwards and waits of hours say nothing", []*workload.Pod{pod("d", 10, 9), pod("e", 10, 10+3601)}, nil},
		{"an hour does", []*workload.Pod{pod("f", 10, 10+3600)}, []time.Duration{time.Hour}},
	} {
		if diff := cmp.Diff(step.want, x.started(&workload.Fleet{Pods: step.pods})); diff != "" {
			t.Errorf("%s: %s", step.reason, diff)
		}
	}
}

// TestMeanOfReadyPodsAndExtremesOfAllPods: the mean is taken over ready pods and over containers with a request. The
// extremes are taken
// over all pods.
func TestMeanOfReadyPodsAndExtremesOfAllPods(t *testing.T) {
	container := func(name string, cpu int64) workload.Container {
		return workload.Container{Name: name, Resources: workload.Resources{CPU: cpu, Memory: 1000 - cpu}}
	}
	pods := []*workload.Pod{pod("a", time.Hour, container("app", 100), container("side", 10)),
		pod("b", time.Hour, container("app", 301), container("none", 0)),
		unready(pod("c", time.Hour, container("app", 900)))}
	if diff := cmp.Diff(map[string]int64{"app": 200, "side": 10}, podsize.Requested(&workload.Fleet{Pods: pods})); diff != "" {
		t.Error(diff)
	}
	most := map[string]workload.Requests{"app": {MilliCPU: 900, MemoryBytes: 900}, "side": {MilliCPU: 10, MemoryBytes: 990},
		"none": {MemoryBytes: 1000}}
	least := map[string]workload.Requests{"app": {MilliCPU: 100, MemoryBytes: 100}, "side": {MilliCPU: 10, MemoryBytes: 990},
		"none": {MemoryBytes: 1000}}
	gotLeast, gotMost := podsize.Extremes(&workload.Fleet{Pods: pods})
	if diff := cmp.Diff(most, gotMost); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(least, gotLeast); diff != "" {
		t.Error(diff)
	}
}
