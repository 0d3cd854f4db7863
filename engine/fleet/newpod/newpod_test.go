package newpod_test

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"flyball.dev/flyball/engine/fleet/newpod"
)

const mebi = 1 << 20

func pod(spec string) string {
	return `{"metadata":{"annotations":{"a":"b"}},"spec":` + spec + `}`
}

func container(more string) string { return pod(`{"containers":[{"name":"main"` + more + `}]}`) }

// tuned is the container with the note on its pod.
func tuned(more string) string {
	return strings.Replace(container(more), `"a":"b"`, `"a":"b","flyball.dev/tuned-by":"Tortoise/shop/web"`, 1)
}

func TestPatches(t *testing.T) {
	const owner = `,"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"memory":"2Gi"}}`
	const done = `,"resources":{"requests":{"cpu":"400m","memory":"512Mi"},"limits":{"memory":"1Gi"}}`
	want := newpod.Want{Policy: "Tortoise/shop/web", Containers: []newpod.Container{{Name: "main", CPU: 400, Memory: 512 * mebi}}}
	runtime := newpod.Want{Policy: want.Policy, Containers: []newpod.Container{{Name: "main"}}, GoMaxProcs: true, GoMemLimit: true}
	both := want
	both.GoMaxProcs, both.GoMemLimit = true, true
	for _, test := range []struct {
		reason, pod string
		want        newpod.Want
		after       string // empty: as before
	}{
		{"requests are set, and limits by their ratio", container(owner), want, tuned(done)},
		{"what is right stays", container(done), want, ""},
		{"nothing is wanted", container(owner), newpod.Want{}, ""},
		{"a container of another name", strings.ReplaceAll(container(owner), "main", "other"), want, ""},
		{"no request is added", container(`,"resources":{"limits":{"example.com/gpu":"1"}}`), want, ""},
		{"a request of nothing stays", container(`,"resources":{"requests":{"cpu":"0"}}`), want, ""},
		{"no limit is added", container(`,"resources":{"requests":{"cpu":2}}`), want, tuned(`,"resources":{"requests":{"cpu":"400m"}}`)},
		{"one resource only", container(owner), newpod.Want{Policy: want.Policy, Containers: []newpod.Container{{Name: "main", Memory: 2048 * mebi}}},
			tuned(`,"resources":{"requests":{"cpu":"1","memory":"2Gi"},"limits":{"memory":"4Gi"}}`)},
		{"guaranteed stays guaranteed", container(`,"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}`), want,
			tuned(`,"resources":{"requests":{"cpu":"400m","memory":"512Mi"},"limits":{"cpu":"400m","memory":"512Mi"}}`)},
		{"sidecars are containers, init containers are not",
			pod(`{"containers":[{"name":"app"}],"initContainers":[{"name":"main"` + owner + `},{"name":"main","restartPolicy":"Always"` + owner + `}]}`), want,
			strings.Replace(pod(`{"containers":[{"name":"app"}],"initContainers":[{"name":"main"`+owner+`},{"name":"main","restartPolicy":"Always"`+done+`}]}`),
				`"a":"b"`, `"a":"b","flyball.dev/tuned-by":"Tortoise/shop/web"`, 1)},
		{"a pod without annotations", `{"metadata":{},"spec":{"containers":[{"name":"main"` + owner + `}]}}`, want,
			`{"metadata":{"annotations":{"flyball.dev/tuned-by":"Tortoise/shop/web"}},"spec":{"containers":[{"name":"main"` + done + `}]}}`},
		{"variables by the limit, else by the request", container(owner), runtime,
			container(owner + `,"env":[{"name":"GOMAXPROCS","value":"1"},{"name":"GOMEMLIMIT","value":"1932735240"}]`)},
		{"variables by what comes to be", container(`,"resources":{"requests":{"cpu":"4","memory":"1Gi"},"limits":{"cpu":"16"}},"env":[{"name":"A","value":"b"}]`), both,
			tuned(`,"resources":{"requests":{"cpu":"400m","memory":"512Mi"},"limits":{"cpu":"1600m"}},"env":[{"name":"A","value":"b"},{"name":"GOMAXPROCS","value":"2"},{"name":"GOMEMLIMIT","value":"483183810"}]`)},
		{"the owner's variables stay", container(owner + `,"env":[{"name":"GOMEMLIMIT","value":"1GiB"},{"name":"GOMAXPROCS","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]`), runtime, ""},
		{"one variable is the owner's", container(owner + `,"env":[{"name":"GOMAXPROCS","value":"7"}]`), runtime,
			container(owner + `,"env":[{"name":"GOMAXPROCS","value":"7"},{"name":"GOMEMLIMIT","value":"1932735240"}]`)},
		{"variables from elsewhere may be the same", container(owner + `,"envFrom":[{"configMapRef":{"name":"env"}}]`), runtime, ""},
		{"a container without resources gets no variables", container(``), runtime, ""},
	} {
		patch, err := newpod.Patch(gjson.Parse(test.pod), test.want)
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
		if again, err := newpod.Patch(gjson.ParseBytes(after), test.want); err != nil || again != nil {
			t.Errorf("%s: asked again: %s, %v", test.reason, again, err)
		}
	}
}

func TestPodsThatPass(t *testing.T) {
	want := newpod.Want{Containers: []newpod.Container{{Name: "main", CPU: 400}}}
	for text, why := range map[string]string{
		container(`,"resources":{"requests":{"cpu":"many"}}`):                                                           "container main: read resources.requests.cpu",
		container(`,"resources":{"requests":{"cpu":"-1"}}`):                                                             "below zero",
		pod(`{"resources":{"limits":{"cpu":"2"}},"containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]}`): "the pod as a whole",
	} {
		if patch, err := newpod.Patch(gjson.Parse(text), want); err == nil || patch != nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %s, %v", text, patch, err)
		}
	}
	for _, text := range []string{``, `null`, `{}`, `{"spec":{"containers":7}}`, `{"spec":{"containers":[null,{"name":{}}]}}`} {
		if patch, err := newpod.Patch(gjson.Parse(text), want); err != nil || patch != nil {
			t.Errorf("%q: %s, %v", text, patch, err)
		}
	}
}

func applied(t *testing.T, pod string, patch []byte) []byte {
	t.Helper()
	if patch == nil {
		return []byte(pod)
	}
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	after, err := p.Apply([]byte(pod))
	if err != nil {
		t.Fatalf("apply %s: %v", patch, err)
	}
	return after
}

func parsed(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
