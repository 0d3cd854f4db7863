package cli_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/policy/trigger"
	"flyball.dev/flyball/engine/workload"
)

// checkpoint writes a manifest of a UsageCheckpoint. A Tortoise has learnt it from a workload that was used from 8 to
// 18 o'clock for some days.
func checkpoint(t *testing.T, profile v1alpha1.TortoiseProfile, ref workload.Ref, from time.Time, days int) string {
	t.Helper()
	tuner, errs := tortoise.NewTuner(v1alpha1.TortoiseRules{Profile: profile})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	learner, err := tuner.NewLearner(nil)
	if err != nil {
		t.Fatal(err)
	}
	for at := from; at.Before(from.AddDate(0, 0, days)); at = at.Add(time.Minute) {
		cpu := 5.0
		if at.Hour() >= 8 && at.Hour() < 18 {
			cpu = 400
		}
		learner.Observe(workload.Sample{At: at, Container: "app", CPU: cpu, Memory: 1 << 20, Replicas: 2})
	}
	text, err := json.Marshal(v1alpha1.UsageCheckpoint{
		TypeMeta:   metav1.TypeMeta{APIVersion: "flyball.dev/v1alpha1", Kind: "UsageCheckpoint"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: workload.CompanionName(ref)},
		Spec: v1alpha1.UsageCheckpointSpec{Target: v1alpha1.TunedTarget{Group: ref.Group, Kind: ref.Kind, Name: ref.Name},
			Policy: "Tortoise/shop/web", Data: base64.StdEncoding.EncodeToString(learner.Keep())},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "checkpoint.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSuggestFromACheckpoint checks that without files and Prometheus, the usage learnt by a Tortoise is the history.
func TestSuggestFromACheckpoint(t *testing.T) {
	web := workload.Ref{Namespace: "shop", Name: "web"}
	web.Group, web.Kind = "apps", "Deployment"
	from := time.Date(2037, 5, 4, 0, 0, 0, 0, time.UTC)
	suggest := func(profile v1alpha1.TortoiseProfile, more ...string) string {
		args := strings.Fields("suggest schedule deployment/web --offline testdata/tuned -n shop --time-zone UTC --offline " +
			checkpoint(t, profile, web, from, 10))
		return outcome(t, "", append(args, more...)...)
	}
	got := suggest("Balanced", "--learn", "7d")
	for _, want := range []string{"exit code 0", "by its UsageCheckpoint", "the days 2037-05-04 to 2037-05-10 (7 days)",
		"every day 18:00 to 07:50: never used", `from: "18:00"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if got := suggest("Balanced"); !strings.HasPrefix(got, "exit code 2") || !strings.Contains(got, "10 whole days, and 21 are needed") {
		t.Errorf("ten days come to\n%s", got)
	}
	if got := suggest("Tortoise", "--learn", "7d"); !strings.Contains(got, "the profile Tortoise keeps no history") {
		t.Errorf("the profile Tortoise comes to\n%s", got)
	}
}

// TestSuggestionsApplyAsTheyAre checks that the printed suggestions compile as policies without any change.
func TestSuggestionsApplyAsTheyAre(t *testing.T) {
	manifest := func(kind string, into any) {
		t.Helper()
		_, text, _ := strings.Cut(outcome(t, "", strings.Fields("suggest "+kind+
			" deployment/web --offline testdata/tuned -n shop --usage testdata/usage/weeks.csv.gz --time-zone Europe/Berlin")...),
			"--- standard output\n")
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatalf("%s: %v\n%s", kind, err, text)
		}
	}
	var s v1alpha1.Schedule
	manifest("schedule", &s)
	if _, errs := schedule.Compile(&s, schedule.Context{}); len(errs) > 0 || s.Namespace != "shop" || len(s.Spec.Asleep) == 0 {
		t.Errorf("%+v: %v", s, errs)
	}
	var tr v1alpha1.Trigger
	manifest("trigger", &tr)
	if _, errs := trigger.Compile(&tr, trigger.Context{}); len(errs) > 0 || tr.Namespace != "shop" || len(tr.Spec.Triggers) == 0 {
		t.Errorf("%+v: %v", tr, errs)
	}
}
