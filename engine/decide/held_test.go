package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/worldtest"
)

// heldUntil returns the metadata of an object with the annotation hold-until.
func heldUntil(text string) string {
	return fmt.Sprintf(`,"annotations":{"flyball.dev/hold-until":%q}`, text)
}

// TestHeldUntil checks the whole life of holds by annotation: without and with a Schedule, and the end in the night.
func TestHeldUntil(t *testing.T) {
	until := func(hours int) string {
		return heldUntil(evening.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339))
	}
	deployments := nightly(0)
	deployments.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: web.Group, Kind: web.Kind}}
	held := deployments.DeepCopy()
	held.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: hpa.Group, Kind: hpa.Kind}}
	held.Spec.AsleepAs = &v1alpha1.AsleepAs{Hold: new(true)}
	const by, nights = " by Annotation/hold-until", " by Schedule/shop/nights"
	autoscaler := func(low int, metadata string) string { return worldtest.Autoscaler("hpa", "web", low, 9, metadata) }
	for _, tc := range []struct {
		reason   string
		policies []policy.Object
		objects  []string
		// want has the hours after the evening and the writes of the autoscaler and of the Deployment.
		want []string
	}{
		{"no policy selects it", nil, []string{autoscaler(2, until(1))},
			[]string{"-1 hpa behavior absent -> {...}" + by, "1 hpa behavior {...} -> absent" + by}},
		{"it is over", nil, []string{autoscaler(2, until(-2))}, nil},
		{"it is no instant", nil, []string{autoscaler(2, heldUntil("tomorrow"))}, nil},
		{"a local time is one of UTC", nil, []string{autoscaler(2, heldUntil(evening.Format("2006-01-02T15:04")))},
			[]string{"-1 hpa behavior absent -> {...}" + by, "0 hpa behavior {...} -> absent" + by}},
		{"a roll-out", nil, []string{worldtest.Deployment("web", 3, until(1))},
			[]string{"-1 web paused absent -> true" + by, "1 web paused true -> absent" + by}},
		{"the kind cannot be held", nil, []string{`{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"web","namespace":"shop"` +
			until(1) +
			`},"spec":{}}`}, nil},
		{"it belongs to an object that is held itself", nil, []string{strings.Replace(worldtest.Deployment("web", 3, until(1)),
			`"generation":1`,
			`"generation":1,"ownerReferences":[{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","name":"web","controller":true}]`,
			1)}, nil},
		{"the target sleeps meanwhile, and the hold ends in the night", []policy.Object{deployments}, []string{worldtest.Deployment("web", 3, ""),
			autoscaler(2, until(1))}, []string{"-1 hpa behavior absent -> {...}" + by, "0 web replicas 3 -> 0" + nights,
			"1 hpa behavior {...} -> absent" + by, "12 web replicas 0 -> 3" + nights}},
		{"the target sleeps meanwhile, and the hold ends by day", []policy.Object{deployments}, []string{worldtest.Deployment("web", 3, ""),
			autoscaler(2, until(14))}, []string{"-1 hpa behavior absent -> {...}" + by, "0 web replicas 3 -> 0" + nights,
			"12 web replicas 0 -> 3" + nights, "14 hpa behavior {...} -> absent" + by}},
		{"the schedule needs the hold longer", []policy.Object{deployments},
			[]string{worldtest.Deployment("web", 3, ""), autoscaler(0, until(1))},
			[]string{"-1 hpa behavior absent -> {...}" + by, "0 web replicas 3 -> 0" + nights, "12 web replicas 0 -> 3" + nights,
				"12 hpa behavior {...} -> absent" + nights}},
		{"a schedule holds the same object", []policy.Object{held}, []string{autoscaler(2, until(1))},
			[]string{"-1 hpa behavior absent -> {...}" + by, "12 hpa behavior {...} -> absent" + nights}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			library, err := adapters.All()
			if err != nil {
				t.Fatal(err)
			}
			w := memoryOf(t, library, tc.policies, tc.objects...)
			before := []string{specOf(w.Raw(hpa)), specOf(w.Raw(web))}
			writes, err := decide.Simulate(w, evening.Add(-time.Hour), evening.Add(20*time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, write := range writes {
				if len(write.Edits) == 0 {
					continue // only the name in the ledger changes
				}
				got = append(got, fmt.Sprintf("%d %s %s by %s", int(write.At.Sub(evening).Hours()), write.Target.Name, write.Message, write.By))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("wrote %q\nwant  %q", got, tc.want)
			}
			for i, ref := range []workload.Ref{hpa, web} {
				if after := specOf(w.Raw(ref)); after != before[i] && !path.Equal(after, before[i]) {
					t.Errorf("restored to %s\nwant %s", after, before[i])
				}
			}
		})
	}
}

func specOf(object []byte) string { return gjson.GetBytes(object, "spec").Raw }

// TestAskedHold checks the reasons why an annotation has no effect, for users.
func TestAskedHold(t *testing.T) {
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	job := workload.Ref{GroupKind: web.GroupKind, Namespace: "shop", Name: "web"}
	job.Group, job.Kind = "batch", "CronJob"
	for _, tc := range []struct {
		ref    workload.Ref
		object string
		want   string
	}{
		{hpa, worldtest.Autoscaler("hpa", "web", 1, 9, heldUntil("soon")), `annotation flyball.dev/hold-until: "soon" `},
		{job, `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"web","namespace":"shop"` + heldUntil("2037-01-01") + `},"spec":{}}`,
			"annotation flyball.dev/hold-until: the adapter cronjobs.batch has no hold that fits the object"},
	} {
		var story decide.Story
		v := decide.Target(memoryOf(t, library, nil, tc.object), tc.ref, evening, &story)
		if v.Result.Patch != nil || !v.Asked.Until.IsZero() || !strings.HasPrefix(v.Asked.Ignored, tc.want) {
			t.Errorf("%s: %+v, patch %v", tc.ref, v.Asked, v.Result.Patch)
		}
		if text := fmt.Sprint(story.Lines); !strings.Contains(text, tc.want) {
			t.Errorf("the story lacks %q: %s", tc.want, text)
		}
	}
}
