package podsize_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

const mebi = 1 << 20

func podWith(spec string) string {
	return `{"metadata":{"annotations":{"a":"b"}},"spec":` + spec + `}`
}

func podOfMain(more string) string { return podWith(`{"containers":[{"name":"main"` + more + `}]}`) }

// tuned is podOfMain with the note that a policy has changed the pod.
func tuned(more string) string {
	return strings.Replace(podOfMain(more), `"a":"b"`, `"a":"b","flyball.dev/tuned-by":"Tortoise/shop/web"`, 1)
}

// TestPatchOfANewPod: requests for which NewPod has no value stay, and so do variables of the owner (fault 10).
func TestPatchOfANewPod(t *testing.T) {
	const owner = `,"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"memory":"2Gi"}}`
	const done = `,"resources":{"requests":{"cpu":"400m","memory":"512Mi"},"limits":{"memory":"1Gi"}}`
	want := podsize.NewPod{Policy: "Tortoise/shop/web", Containers: []podsize.NewContainer{{Name: "main", CPU: 400, Memory: 512 * mebi}}}
	runtime := podsize.NewPod{Policy: want.Policy, Containers: []podsize.NewContainer{{Name: "main"}}, GoMaxProcs: true, GoMemLimit: true}
	both := want
	both.GoMaxProcs, both.GoMemLimit = true, true
	keep, none := want, want
	keep.Limits, none.Limits = workload.LimitsStay, workload.LimitsGo
	for _, test := range []struct {
		reason, pod string
		want        podsize.NewPod
		after       string // empty: as before
	}{
		{"limits that stay", podOfMain(owner), keep,
			tuned(`,"resources":{"requests":{"cpu":"400m","memory":"512Mi"},"limits":{"memory":"2Gi"}}`)},
		{"limits that stay below what is wanted", podOfMain(`,"resources":{"requests":{"cpu":"100m"},"limits":{"cpu":"300m"}}`), keep,
			tuned(`,"resources":{"requests":{"cpu":"300m"},"limits":{"cpu":"300m"}}`)},
		{"limits that go", podOfMain(owner), none, tuned(`,"resources":{"requests":{"cpu":"400m","memory":"512Mi"},"limits":{}}`)},
		{"limits that go beside a request that is right", podOfMain(done), none,
			tuned(`,"resources":{"requests":{"cpu":"400m","memory":"512Mi"},"limits":{}}`)},
		{"requests are set, and limits by their ratio", podOfMain(owner), want, tuned(done)},
		{"what is right stays", podOfMain(done), want, ""},
		{"nothing is wanted", podOfMain(owner), podsize.NewPod{}, ""},
		{"a container of another name", strings.ReplaceAll(podOfMain(owner), "main", "other"), want, ""},
		{"no request is added", podOfMain(`,"resources":{"limits":{"example.com/gpu":"1"}}`), want, ""},
		{"a request of nothing stays", podOfMain(`,"resources":{"requests":{"cpu":"0"}}`), want, ""},
		{"no limit is added", podOfMain(`,"resources":{"requests":{"cpu":2}}`), want, tuned(`,"resources":{"requests":{"cpu":"400m"}}`)},
		{"one resource only", podOfMain(owner), podsize.NewPod{Policy: want.Policy,
			Containers: []podsize.NewContainer{{Name: "main", Memory: 2048 * mebi}}},
			tuned(`,"resources":{"requests":{"cpu":"1","memory":"2Gi"},"limits":{"memory":"4Gi"}}`)},
		{"guaranteed stays guaranteed", podOfMain(`,"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}`),
			want,
			tuned(`,"resources":{"requests":{"cpu":"400m","memory":"512Mi"},"limits":{"cpu":"400m","memory":"512Mi"}}`)},
		{"sidecars are containers, init containers are not",
			podWith(`{"containers":[{"name":"app"}],"initContainers":[{"name":"main"` + owner + `},{"name":"main","restartPolicy":"Always"` + owner +
				`}]}`), want,
			strings.Replace(podWith(`{"containers":[{"name":"app"}],"initContainers":[{"name":"main"`+owner+
				`},{"name":"main","restartPolicy":"Always"`+
				done+`}]}`),
				`"a":"b"`, `"a":"b","flyball.dev/tuned-by":"Tortoise/shop/web"`, 1)},
		{"a pod without annotations", `{"metadata":{},"spec":{"containers":[{"name":"main"` + owner + `}]}}`, want,
			`{"metadata":{"annotations":{"flyball.dev/tuned-by":"Tortoise/shop/web"}},"spec":{"containers":[{"name":"main"` + done + `}]}}`},
		{"variables by the limit, else by the request", podOfMain(owner), runtime,
			podOfMain(owner + `,"env":[{"name":"GOMAXPROCS","value":"1"},{"name":"GOMEMLIMIT","value":"1932735240"}]`)},
		{"variables by what comes to be",
			podOfMain(`,"resources":{"requests":{"cpu":"4","memory":"1Gi"},"limits":{"cpu":"16"}},"env":[{"name":"A","value":"b"}]`), both,
			tuned(
				`,"resources":{"requests":{"cpu":"400m","memory":"512Mi"},"limits":{"cpu":"1600m"}},"env":[{"name":"A","value":"b"},` +
					`{"name":"GOMAXPROCS","value":"2"},{"name":"GOMEMLIMIT","value":"483183810"}]`)},
		{"the owner's variables stay", podOfMain(owner +
			`,"env":[{"name":"GOMEMLIMIT","value":"1GiB"},{"name":"GOMAXPROCS","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]`),
			runtime, ""},
		{"one variable is the owner's", podOfMain(owner + `,"env":[{"name":"GOMAXPROCS","value":"7"}]`), runtime,
			podOfMain(owner + `,"env":[{"name":"GOMAXPROCS","value":"7"},{"name":"GOMEMLIMIT","value":"1932735240"}]`)},
		{"variables from elsewhere may be the same", podOfMain(owner + `,"envFrom":[{"configMapRef":{"name":"env"}}]`), runtime, ""},
		{"a container without resources gets no variables", podOfMain(``), runtime, ""},
	} {
		patch, err := podsize.PatchNewPod(rawjson.Parse(test.pod), test.want)
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
			continue
		}
		if test.after == "" {
			test.after = test.pod
			if patch != nil {
				t.Errorf("%s: a patch that is for nothing: %s", test.reason, patch)
			}
		}
		after := applied(t, test.pod, patch)
		if diff := cmp.Diff(parsed(t, []byte(test.after)), parsed(t, after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		if again, err := podsize.PatchNewPod(rawjson.ParseBytes(after), test.want); err != nil || again != nil {
			t.Errorf("%s: asked again: %s, %v", test.reason, again, err)
		}
	}
}

// TestBoostsForTheStart: CPU grows from the recommendation, or from the template, and the later requests are noted.
func TestBoostsForTheStart(t *testing.T) {
	started := func(more, boost string) string {
		return strings.Replace(tuned(more), `"flyball.dev/tuned-by"`, `"flyball.dev/startup-boost":"`+boost+`","flyball.dev/tuned-by"`, 1)
	}
	want := podsize.NewPod{Policy: "Tortoise/shop/web", Containers: []podsize.NewContainer{{Name: "main", CPU: 400}}}
	with := func(cpu string, edit ...func(*podsize.NewPod)) podsize.NewPod {
		w := want
		w.Boost = podsize.StartBoostOf(cpu, "Ready", []string{"main"})
		for _, e := range edit {
			e(&w)
		}
		return w
	}
	template := func(w *podsize.NewPod) { w.Containers = nil }
	keep := func(w *podsize.NewPod) { w.Limits = workload.LimitsStay }
	none := func(w *podsize.NewPod) { w.Limits = workload.LimitsGo }
	node := func(n int64) func(*podsize.NewPod) { return func(w *podsize.NewPod) { w.Boost.Most = n } }
	const owner = `,"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"2","memory":"2Gi"}}`
	of := func(request, limit string) string {
		return `,"resources":{"requests":{"cpu":"` + request + `","memory":"1Gi"},"limits":{"cpu":"` + limit + `","memory":"2Gi"}}`
	}
	for _, test := range []struct {
		reason, pod string
		want        podsize.NewPod
		after       string // empty: as without a boost
	}{
		{"a factor", podOfMain(owner), with("2x"), started(of("800m", "1600m"), "Ready main=400/800")},
		{"a part of a factor", podOfMain(owner), with("1.5x"), started(of("600m", "1200m"), "Ready main=400/800")},
		{"an amount", podOfMain(owner), with("3"), started(of("3", "6"), "Ready main=400/800")},
		{"an amount that is less", podOfMain(owner), with("300m"), ""},
		{"of what the template has", podOfMain(owner), with("2x", template), started(of("2", "4"), "Ready main=1000/2000")},
		{"below a limit that stays", podOfMain(owner), with("9x", keep), started(of("1999m", "2"), "Ready main=400/2000")},
		{"a limit that stays leaves no room", podOfMain(of("400m", "400m")), with("2x", keep), ""},
		{"without a limit", podOfMain(owner), with("2x", none),
			started(`,"resources":{"requests":{"cpu":"800m","memory":"1Gi"},"limits":{"memory":"2Gi"}}`, "Ready main=400")},
		{"guaranteed stays guaranteed", podOfMain(`,"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}`),
			with("2x"),
			started(`,"resources":{"requests":{"cpu":"800m","memory":"1Gi"},"limits":{"cpu":"800m","memory":"1Gi"}}`, "Ready main=400/400")},
		{"as much as the largest node has", podOfMain(owner), with("2x", node(800)), started(of("800m", "1600m"), "Ready main=400/800")},
		{"more than it has", podOfMain(owner), with("2x", node(799)), ""},
		{"a container that would be restarted to come down",
			podOfMain(owner + `,"resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]`), with("2x"), ""},
		{"containers with names that no note has room for", strings.ReplaceAll(podOfMain(owner), "main",
			strings.Repeat("m", workload.LongestBoost)),
			with("2x", func(w *podsize.NewPod) {
				w.Containers = []podsize.NewContainer{{Name: strings.Repeat("m", workload.LongestBoost), CPU: 400}}
				w.Boost.Containers = []string{w.Containers[0].Name}
			}), ""},
		{"a container that is none of them", strings.ReplaceAll(podOfMain(owner), "main", "other"), with("2x"), ""},
	} {
		patch, err := podsize.PatchNewPod(rawjson.Parse(test.pod), test.want)
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
			continue
		}
		after := applied(t, test.pod, patch)
		if test.after == "" {
			test.want.Boost = nil
			plain, err := podsize.PatchNewPod(rawjson.Parse(test.pod), test.want)
			if err != nil {
				t.Error(err)
			}
			test.after = string(applied(t, test.pod, plain))
		}
		if diff := cmp.Diff(parsed(t, []byte(test.after)), parsed(t, after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		if again, err := podsize.PatchNewPod(rawjson.ParseBytes(after), test.want); err != nil || again != nil {
			t.Errorf("%s: asked again: %s, %v", test.reason, again, err)
		}
	}
	for _, cpu := range []string{"", "x", "1x", "1.0x", "1.55x", "-2x", "0", "-1", "much"} {
		if b := podsize.StartBoostOf(cpu, "Ready", nil); b != nil {
			t.Errorf("%q is taken for %+v", cpu, b)
		}
	}
}

func TestPodsThatPass(t *testing.T) {
	want := podsize.NewPod{Containers: []podsize.NewContainer{{Name: "main", CPU: 400}}}
	for joinText, why := range map[string]string{
		podOfMain(
			`,"resources":{"requests":{"cpu":"many"}}`): "container main: read resources.requests.cpu",
		podOfMain(`,"resources":{"requests":{"cpu":"-1"}}`):                                                                 "below zero",
		podWith(`{"resources":{"limits":{"cpu":"2"}},"containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]}`): "the pod as a whole",
	} {
		if patch, err := podsize.PatchNewPod(rawjson.Parse(joinText), want); err == nil || patch != nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %s, %v", joinText, patch, err)
		}
	}
	for _, joinText := range []string{``, `null`, `{}`, `{"spec":{"containers":7}}`, `{"spec":{"containers":[null,{"name":{}}]}}`} {
		if patch, err := podsize.PatchNewPod(rawjson.Parse(joinText), want); err != nil || patch != nil {
			t.Errorf("%q: %s, %v", joinText, patch, err)
		}
	}
}

func applied(t *testing.T, pod string, patch []byte) []byte {
	t.Helper()
	after, err := apply(pod, patch)
	if err != nil {
		t.Fatalf("apply %s: %v", patch, err)
	}
	return after
}

func apply(pod string, patch []byte) ([]byte, error) {
	if patch == nil {
		return []byte(pod), nil
	}
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	return p.Apply([]byte(pod))
}

func parsed(t *testing.T, joinText []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(joinText, &v); err != nil {
		t.Fatalf("%s: %v", joinText, err)
	}
	return v
}

// amounts are requests or limits of containers; the first means none.
var amounts = map[string][]string{
	"cpu":    {"", "0", "1m", "3m", "100m", "999m", "1", "1500m", "2", "64", "1k"},
	"memory": {"", "0", "1", "3", "999", "64Mi", "100Mi", "1Gi", "1000000001", "7e9"},
}

// classOf is the class of service by the rules of Kubernetes, for CPU and memory.
func classOf(pod rawjson.Value) corev1.PodQOSClass {
	any, guaranteed := false, true
	pod.Get("spec.containers").ForEach(func(_, c rawjson.Value) bool {
		for _, name := range []string{"cpu", "memory"} {
			request, limit := quantityIn(c, "requests."+name), quantityIn(c, "limits."+name)
			any = any || !request.IsZero() || !limit.IsZero()
			guaranteed = guaranteed && !limit.IsZero() && request.Cmp(limit) == 0
		}
		return true
	})
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

func quantityIn(c rawjson.Value, at string) resource.Quantity {
	if v := c.Get("resources." + at); v.Exists() {
		return resource.MustParse(v.String())
	}
	return resource.Quantity{}
}

// TestPodsStayValid: for any pod and wish, no limit falls below its request, nothing is added or removed, the class
// of
// service stays, and the pod has the wanted values.
func TestPodsStayValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := podsize.NewPod{Policy: "p", GoMaxProcs: rapid.Bool().Draw(t, "procs"), GoMemLimit: rapid.Bool().Draw(t, "memory")}
		var containers []string
		for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
			name := fmt.Sprintf("c%d", i)
			resources := map[string]map[string]string{"requests": {}, "limits": {}}
			for _, of := range []string{"cpu", "memory"} {
				request, limit := rapid.SampledFrom(amounts[of]).Draw(t, "request"), rapid.SampledFrom(amounts[of]).Draw(t, "limit")
				if limit != "" && (request == "" || exceeds(request, limit) || rapid.Bool().Draw(t, "equal")) {
					request = limit // as the API server fills it in, and as it has to be
				}
				for key, joinText := range map[string]string{"requests": request, "limits": limit} {
					if joinText != "" {
						resources[key][of] = joinText
					}
				}
			}
			joinText, err := json.Marshal(map[string]any{"name": name, "resources": resources})
			if err != nil {
				t.Fatal(err)
			}
			containers = append(containers, string(joinText))
			want.Containers = append(want.Containers, podsize.NewContainer{Name: name, CPU: rapid.Int64Range(0, 1<<40).Draw(t, "cpu"),
				Memory: rapid.Int64Range(0, 1<<45).Draw(t, "bytes")})
		}
		before := podWith(`{"containers":[` + strings.Join(containers, ",") + `]}`)
		patch, err := podsize.PatchNewPod(rawjson.Parse(before), want)
		if err != nil {
			t.Fatal(err)
		}
		after, err := apply(before, patch)
		if err != nil {
			t.Fatal(err)
		}
		if was, is := classOf(rawjson.Parse(before)), classOf(rawjson.ParseBytes(after)); was != is {
			t.Errorf("%s became %s:\n%s\n%s", was, is, before, after)
		}
		for i := range containers {
			c := rawjson.GetBytes(after, fmt.Sprintf("spec.containers.%d", i))
			for of, n := range map[string]int64{"cpu": want.Containers[i].CPU, "memory": want.Containers[i].Memory} {
				owned := rawjson.Get(containers[i], "resources.requests."+of)
				request, limit := quantityIn(c, "requests."+of), quantityIn(c, "limits."+of)
				if c.Get("resources.requests."+of).Exists() != owned.Exists() ||
					c.Get("resources.limits."+of).Exists() != rawjson.Get(containers[i], "resources.limits."+of).Exists() {
					t.Errorf("something was added or taken away:\n%s\n%s", before, after)
				}
				if !limit.IsZero() && request.Cmp(limit) > 0 {
					t.Errorf("a limit below its request: %s", c)
				}
				got := request.Value()
				if of == "cpu" {
					got = request.MilliValue()
				}
				if own := quantityOf(owned.String()); n > 0 && !own.IsZero() && got != n {
					t.Errorf("it requests %d, not %d: %s", got, n, c)
				}
			}
		}
	})
}

func exceeds(a, b string) bool {
	q := quantityOf(a)
	return q.Cmp(quantityOf(b)) > 0
}

func quantityOf(joinText string) resource.Quantity {
	if joinText == "" {
		return resource.Quantity{}
	}
	return resource.MustParse(joinText)
}

// TestHostilePods: pods that are written to do harm are read in one walk. They are patched, pass unchanged or give an
// error.
func TestHostilePods(t *testing.T) {
	want := podsize.NewPod{Policy: "p", GoMaxProcs: true, GoMemLimit: true,
		Containers: []podsize.NewContainer{{Name: "main", CPU: 400, Memory: 64 * mebi}}}
	many := strings.Repeat(`{"name":"A","value":"b"},`, 10_000)
	for _, test := range []struct{ reason, pod, patched string }{
		{"a long environment", podOfMain(`,"env":[` + many + `{"name":"GOMAXPROCS"}],"resources":{"requests":{"cpu":"1","memory":"1Gi"}}`),
			`[{"op":"replace","path":"/spec/containers/0/resources/requests/cpu","value":"400m"},{"op":"replace",` +
				`"path":"/spec/containers/0/resources/requests/memory","value":"64Mi"},` +
				`{"op":"add","path":"/spec/containers/0/env/-","value":{"name":"GOMEMLIMIT","value":"60397920"}},{"op":"add",` +
				`"path":"/metadata/annotations/flyball.dev~1tuned-by","value":"p"}]`},
		{"very many containers", podWith(`{"containers":[` + strings.Repeat(`{"name":"a","resources":{"requests":{"cpu":"1"}}},`, 10_000) +
			`{"name":"b"}]}`), ""},
		{"no containers", podWith(`{}`), ""},
		{"containers that are none", podWith(`{"containers":{"0":{"name":"main"}},"initContainers":"main"}`), ""},
		{"resources of unknown names",
			podOfMain(
				`,"resources":{"requests":{"example.com/x":"1","hugepages-2Mi":"4Mi","ephemeral-storage":"1Gi"},"limits":{"example.com/x":"1"}}`), ""},
		{"more than there is", podOfMain(`,"resources":{"requests":{"cpu":"9223372036854775807"}}`), "error"},
		{"more than can be written", podOfMain(`,"resources":{"limits":{"memory":"1e999"},"requests":{"memory":"1e99"}}`), "error"},
		{"a quantity that takes minutes to read", podOfMain(`,"resources":{"requests":{"cpu":"1e-999999999"}}`), "error"},
		{"less than can be counted", podOfMain(`,"resources":{"requests":{"cpu":"1e-99"}}`), "error"},
		{"part of a byte, which would be rounded up to its limit", podOfMain(`,"resources":{"requests":{"memory":"3m"},"limits":{"memory":"1"}}`),
			"error"},
		{"amounts that are none", podOfMain(`,"resources":{"requests":{"cpu":{},"memory":[1]}}`), "error"},
		{"an environment that is none", podOfMain(`,"env":7,"envFrom":{},"resources":{"requests":{"cpu":"400m","memory":"64Mi"}}`),
			`[{"op":"add","path":"/spec/containers/0/env/-","value":{"name":"GOMAXPROCS","value":"1"}},{"op":"add",` +
				`"path":"/spec/containers/0/env/-","value":{"name":"GOMEMLIMIT","value":"60397920"}}]`},
	} {
		patch, err := podsize.PatchNewPod(rawjson.Parse(test.pod), want)
		got := string(patch)
		if err != nil {
			got = "error"
		}
		if diff := cmp.Diff(test.patched, got); diff != "" {
			t.Errorf("%s (-want +got), %v:\n%s", test.reason, err, diff)
		}
	}
}
