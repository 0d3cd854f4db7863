package tune

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// TestVerticalRecommendationRaisesAtOnceAndLowersInSteps checks that a recommendation is followed. A request below
// the recommended range rises at
// once. A request above the recommended target falls in steps, after the cooldown.
func TestVerticalRecommendationRaisesAtOnceAndLowersInSteps(t *testing.T) {
	const mib = 1 << 20
	within := Limits{Min: Requests{CPU: 50, Memory: 100 * mib}, Max: Requests{CPU: 2000, Memory: 4096 * mib}}
	memory := func(target, lower, upper int64) Vertical {
		return Vertical{By: "web", Target: Requests{Memory: target * mib}, Lower: Requests{Memory: lower * mib},
			Upper: Requests{Memory: upper * mib}}
	}
	unsure := memory(500, 400, 9000)
	unsure.Unsure = true
	settled := memory(1000, 400, 1200)
	settled.Unsure = true
	for _, tc := range []struct {
		name   string
		v      Vertical
		is     int64
		since  time.Duration // time since the last change; negative: the last change was a rise
		want   int64
		reason string
	}{
		{"below that, too soon after a rise", memory(1200, 1001, 1500), 1000, 1 - 15*time.Minute, 1000,
			"1200 MiB: VerticalPodAutoscaler web recommends it, from 1001 to 1500; it is short, and rises again 15m0s after it last did"},
		{"below that, long enough after a rise", memory(1200, 1001, 1500), 1000, -15 * time.Minute, 1200, "1200 MiB: "},
		{"as it would leave it, after a rise", memory(1200, 1000, 1500), 1000, 1 - 15*time.Minute, 1000, "leaves what is from 1000 to 1500"},
		{"nothing is recommended", Vertical{By: "web"}, 1000, 2 * time.Hour, 1000, "it stays: no VerticalPodAutoscaler recommends anything"},
		{"one step down", memory(500, 400, 900), 1000, 2 * time.Hour, 800, "500 MiB: VerticalPodAutoscaler web recommends 500, from 400 to 900"},
		{"the last step down", memory(900, 400, 950), 1000, 2 * time.Hour, 900, "900 MiB: "},
		{"down, on the hour", memory(500, 400, 900), 1000, time.Hour, 800, "500 MiB: "},
		{"down, within the cooldown", memory(500, 400, 900), 1000, time.Hour - 1, 1000, "500 MiB, after the cooldown"},
		{"down, and it is unsure", unsure, 1000, 2 * time.Hour, 1000, "has seen too little"},
		{"as it recommends, and it is unsure", settled, 1000, 2 * time.Hour, 1000,
			"1000 MiB: VerticalPodAutoscaler web recommends 1000, from 400 to 1200"},
		{"too little to be worth it", memory(990, 400, 1200), 1000, 2 * time.Hour, 1000, "990 MiB: "},
		{"as it would leave it", memory(1200, 1000, 1500), 1000, 2 * time.Hour, 1000, "leaves what is from 1000 to 1500"},
		{"below that, within the cooldown", memory(1200, 1001, 1500), 1000, 0, 1200, "1200 MiB: "},
		{"far below that", memory(3000, 2500, 3500), 1000, 0, 2000, "3000 MiB: "},
		{"up, and it is unsure", Vertical{By: "web", Target: Requests{Memory: 1500 * mib}, Lower: Requests{Memory: 1200 * mib},
			Unsure: true}, 1000,
			0, 1500, "1500 MiB: "},
		{"above what may be requested", memory(9000, 8000, 9900), 4000, 0, 4096, "4096 MiB: "},
		{"at what may be requested", memory(9000, 8000, 9900), 4096, 0, 4096, "4096 MiB: "},
		{"below what is asked for at least", memory(450, 200, 900), 350, 0, 450, "450 MiB: "},
		{"far below what is asked for at least", memory(450, 200, 900), 210, 0, 420, "450 MiB: "},
		{"below what may be requested", memory(10, 5, 20), 110, 2 * time.Hour, 100, "100 MiB: "},
	} {
		tuner := New()
		tuner.State.Resized = time.Unix(0, 0)
		spec := Defaults(Profiles["Balanced"], "app")
		spec.Vertical, spec.Limits = true, map[string]Limits{"app": within}
		if tc.since < 0 {
			tc.since, tuner.State.Raised = -tc.since, time.Unix(0, 0)
		}
		now := time.Unix(0, 0).Add(tc.since)
		if strings.HasSuffix(tc.name, "at least") {
			spec.Limits["app"] = Limits{Min: Requests{CPU: 50, Memory: 400 * mib}, Max: within.Max, Floor: Requests{Memory: 400 * mib}}
		}
		is := Setting{Requests: map[string]Requests{"app": {CPU: 300, Memory: tc.is * mib}}}
		to := clone(is)
		tuner.vertical(spec, Observed{Now: now, Setting: is, Vertical: map[string]Vertical{"app": tc.v}}, &to)
		if got := to.Requests["app"]; got.Memory != tc.want*mib || got.CPU != 300 {
			t.Errorf("%s: %d MiB and %dm, want %d MiB and 300m", tc.name, got.Memory/mib, got.CPU, tc.want)
		}
		if rose := tuner.State.Raised.Equal(now); rose != (tc.want > tc.is) {
			t.Errorf("%s: a rise is noted: %t", tc.name, rose)
		}
		if changed := tuner.State.Resized.Equal(now) && tc.since > 0; changed != (tc.want != tc.is && tc.since > 0) {
			t.Errorf("%s: a change is noted: %t", tc.name, changed)
		}
		if why := tuner.reasons; len(why) != 1 || why[0].Of != "app memory" || !strings.Contains(why[0].Text, tc.reason) {
			t.Errorf("%s: %v, want %q", tc.name, why, tc.reason)
		}
	}
}

// TestWhichCPUAVerticalSizes checks that the CPU of other containers follows the recommendation. The CPU of the
// scaled
// container follows it only if nothing is scaled by replicas.
func TestWhichCPUAVerticalSizes(t *testing.T) {
	v := map[string]Vertical{"app": {By: "web", Target: Requests{CPU: 400}, Lower: Requests{CPU: 200}},
		"proxy": {By: "web", Target: Requests{CPU: 80}, Lower: Requests{CPU: 60}}}
	for _, fixed := range []bool{false, true} {
		tuner := New()
		spec := Defaults(Profiles["Balanced"], "app")
		spec.Vertical, spec.Fixed = true, fixed
		is := Setting{Requests: map[string]Requests{"app": {CPU: 500}, "proxy": {CPU: 50}}}
		to := clone(is)
		tuner.vertical(spec, Observed{Now: time.Unix(1e9, 0), Setting: is, Vertical: v}, &to)
		want := map[string]int64{"app": 500, "proxy": 80}
		if fixed {
			want["app"] = 400
		}
		told := map[string]bool{"app memory": true, "proxy memory": true, "proxy cpu": true}
		if fixed {
			told["request"] = true
		}
		of := map[string]bool{}
		for _, r := range tuner.reasons {
			of[r.Of] = true
		}
		if !maps.Equal(of, told) {
			t.Errorf("fixed %t: it tells of %v", fixed, of)
		}
		for name, cpu := range want {
			if got := to.Requests[name].CPU; got != cpu {
				t.Errorf("fixed %t: %s requests %dm, want %dm", fixed, name, got, cpu)
			}
		}
		tuner.State.Aim.Request, tuner.State.Chosen = 900, monday
		seen := Observed{Now: time.Unix(2e9, 0), Ready: 5, Setting: to}
		if got, _ := tuner.request(spec, seen, &to, Working.Allowed(), tuner.pace(spec, seen)); fixed && got != 400 {
			t.Errorf("fixed: the request is for %dm", got)
		}
	}
}
