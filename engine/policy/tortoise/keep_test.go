package tortoise

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// TestForgedCheckpointCannotControlATarget checks that a written checkpoint cannot control a target. Impossible
// numbers are
// refused. Numbers beyond the bounds of the spec and the owner's numbers are limited.
func TestForgedCheckpointCannotControlATarget(t *testing.T) {
	m := learnerOf(t, `{resources: [{container: app, min: {cpu: 500m, memory: 100Mi}, max: {cpu: "2", memory: 1Gi}}]}`)
	m.Own = map[string]tune.Requests{"app": {CPU: 3000, Memory: 64 << 20}}
	restore := func(edit func(k *kept)) (*learner, error) {
		k := kept{Version: keptVersion, Memory: m.memory, Usage: tune.New().Usage.Marshal()}
		k.Memory.Setting.Requests = map[string]tune.Requests{"app": {CPU: 700, Memory: 200 << 20}}
		edit(&k)
		return newLearner(m.rules, pack(k))
	}
	request := func(cpu, memory int64) func(*kept) {
		return func(k *kept) { k.Memory.Setting.Requests["app"] = tune.Requests{CPU: cpu, Memory: memory} }
	}
	for what, tc := range map[string]struct{ has, want tune.Requests }{
		"as it was":                   {tune.Requests{CPU: 700, Memory: 200 << 20}, tune.Requests{CPU: 700, Memory: 200 << 20}},
		"on the way from its owner's": {tune.Requests{CPU: 2900, Memory: 70 << 20}, tune.Requests{CPU: 2900, Memory: 70 << 20}},
		"above what either says":      {tune.Requests{CPU: 9000, Memory: 2 << 30}, tune.Requests{CPU: 3000, Memory: 1 << 30}},
		"below what either says":      {tune.Requests{CPU: 0, Memory: 1}, tune.Requests{CPU: 500, Memory: 64 << 20}},
	} {
		got, err := restore(request(tc.has.CPU, tc.has.Memory))
		if err != nil || got.Setting.Requests["app"] != tc.want {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	for what, edit := range map[string]func(*kept){
		"a negative request":         request(-1, 1),
		"a request of no node":       request(1<<60, 1),
		"a negative minimum":         func(k *kept) { k.Memory.Setting.Min = -1 },
		"more than any utilisation":  func(k *kept) { k.Memory.Setting.Utilisation = maxUtilisation + 1 },
		"a utilisation below zero":   func(k *kept) { k.Memory.Setting.Utilisation = -1 },
		"more memory than any node":  request(1, most+1),
		"memory below zero":          request(1, -1),
		"an aim below zero":          func(k *kept) { k.State.Aim.Request = -1 },
		"a start of more than a day": func(k *kept) { k.State.Starts = []time.Duration{time.Minute, 24*time.Hour + 1} },
		"more than any maximum":      func(k *kept) { k.Memory.Setting.Min, k.Memory.Setting.Max = mostReplicas+1, mostReplicas+1 },
		"a target below zero":        func(k *kept) { k.State.Aim.Target = -1 },
		"a target beyond any":        func(k *kept) { k.State.Aim.Target = maxUtilisation + 1 },
		"a floor below zero":         func(k *kept) { k.State.Aim.Floor = -1 },
		"a floor of no cluster":      func(k *kept) { k.State.Aim.Floor = 1e300 },
		"a share below zero":         func(k *kept) { k.State.Aim.Share = -0.1 },
		"a share beyond any":         func(k *kept) { k.State.Aim.Share = 101 },
		"a loss below zero":          func(k *kept) { k.State.Loss = -1 },
		"an aim of no node":          func(k *kept) { k.State.Aim.Request = 1 << 60 },
		"a phase that is none":       func(k *kept) { k.State.Phase = "Asleep" },
		"a start that never ends":    func(k *kept) { k.State.Starts = []time.Duration{1 << 62} },
		"a start before it began":    func(k *kept) { k.State.Starts = []time.Duration{-1} },
		"a history cut in two":       func(k *kept) { k.Usage = k.Usage[:len(k.Usage)/2] },
		"a history after itself":     func(k *kept) { k.Usage = append(k.Usage, k.Usage...) },
	} {
		if _, err := restore(edit); err == nil {
			t.Errorf("%s is taken over", what)
		}
	}
}

// TestNumbersAtTheirLimits checks that numbers exactly at their limits are accepted.
func TestNumbersAtTheirLimits(t *testing.T) {
	m := learnerOf(t, `{}`)
	for what, edit := range map[string]func(*kept){
		"no replicas":            func(k *kept) { k.Memory.Setting.Min, k.Memory.Setting.Max = 0, 0 },
		"the most replicas":      func(k *kept) { k.Memory.Setting.Min, k.Memory.Setting.Max = mostReplicas, mostReplicas },
		"the most utilisation":   func(k *kept) { k.Memory.Setting.Utilisation = maxUtilisation },
		"the largest target":     func(k *kept) { k.State.Aim.Target = maxUtilisation },
		"the largest aim":        func(k *kept) { k.State.Aim.Request = most },
		"starts from 0 to a day": func(k *kept) { k.State.Starts = []time.Duration{0, time.Minute, 24 * time.Hour} },
		"the largest requests": func(k *kept) {
			k.Memory.Setting.Requests = map[string]tune.Requests{"app": {CPU: most, Memory: most}}
		},
		"no requests": func(k *kept) { k.Memory.Setting.Requests = map[string]tune.Requests{"app": {}} },
	} {
		k := kept{Version: keptVersion, Memory: m.memory, Usage: tune.New().Usage.Marshal()}
		edit(&k)
		if _, err := newLearner(m.rules, pack(k)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestMindsOfOtherPolicies checks that Adopt does not replace a learner of another type, and gives the new rules to
// its
// own learner.
func TestMindsOfOtherPolicies(t *testing.T) {
	type other struct{ policy.Learner }
	r, _ := rulesOf(t, `{}`)
	if old := (&other{}); (&tortoise{rules: r}).Adopt(old) != policy.Learner(old) {
		t.Error("what another policy has learnt is replaced")
	}
	m := learnerOf(t, `{mode: Auto}`)
	tuned := &tortoise{rules: r}
	if got := tuned.Adopt(m); got != policy.Learner(m) || m.rules != &tuned.rules {
		t.Error("the learner of an earlier form does not go on by the new rules")
	}
}

// TestWordsOfACheckpoint checks that reasons with an unknown subject or a text that is too long are dropped.
func TestWordsOfACheckpoint(t *testing.T) {
	m := learnerOf(t, `{}`)
	k := kept{Version: keptVersion, Memory: m.memory, Usage: tune.New().Usage.Marshal()}
	k.Memory.Reasons = map[string]string{"min": strings.Repeat("so", 1<<20), "max": "so", "phase": strings.Repeat("s", maxReason),
		"lead": strings.Repeat("s", maxReason+1)}
	for i := range 100_000 {
		k.Memory.Reasons[fmt.Sprint(i)] = "so"
	}
	got, err := newLearner(m.rules, pack(k))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"max": "so", "phase": strings.Repeat("s", maxReason)}, got.Reasons); diff != "" {
		t.Errorf("%.500s", diff)
	}
	if n := len(got.Keep()); n > maxKept {
		t.Errorf("%d bytes are kept", n)
	}
}
