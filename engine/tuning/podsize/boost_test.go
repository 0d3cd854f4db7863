package podsize_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

// TestBoostRaisesTheRequestOfAStartingPod: a note on a pod is parsed as it was written, and no other text is a boost.
func TestBoostRaisesTheRequestOfAStartingPod(t *testing.T) {
	b := podsize.Boost{Until: "60s", After: map[string]workload.Resources{"main": {CPU: 500}, "proxy": {CPU: 100, CPULimit: 200}}}
	const text = "60s main=500 proxy=100/200"
	if b.String() != text {
		t.Errorf("it is noted as %q", b)
	}
	if again, ok := podsize.ParseBoost(text); !ok || again.String() != text {
		t.Errorf("read again it is %q, %t", again, ok)
	}
	for _, text := range []string{"", "Ready", "soon main=500", "60s main", "60s main=0", "60s main=-5", "60s main=5/x", "60s main=500/400"} {
		if b, ok := podsize.ParseBoost(text); ok {
			t.Errorf("%q is taken for %+v", text, b)
		}
	}
}

// TestPodsThatStart: a boost lasts until the pod is ready, or for its time and until the pod runs, and does not count
// in the pod's usual requests.
func TestPodsThatStart(t *testing.T) {
	created := time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		reason, boost string
		after         time.Duration
		ready         bool
		phase         workload.PodPhase
		by            string
		boosted       bool
		ends          time.Duration // negative: it is not known
	}{
		{"not ready", "Ready main=500", time.Hour, false, workload.PodRunning, "", true, -1},
		{"ready", "Ready main=500", time.Minute, true, workload.PodRunning, "", true, time.Minute},
		{"its time has not come", "60s main=500", 59 * time.Second, true, workload.PodRunning, "", true, time.Minute},
		{"its time is over", "60s main=500", 60 * time.Second, false, workload.PodRunning, "", true, time.Minute},
		{"it has no node", "60s main=500", time.Hour, false, workload.PodPending, "", true, -1},
		{"it has come down", "60s main=500", time.Hour, true, workload.PodRunning, "flyball", false, 0},
		{"it has what it comes down to", "60s main=1000", time.Hour, true, workload.PodRunning, "", false, 0},
		{"another container", "60s other=500", time.Hour, true, workload.PodRunning, "", false, 0},
		{"nothing is noted", "", time.Hour, true, workload.PodRunning, "", false, 0},
	} {
		p := &workload.Pod{Created: created.Unix(), Ready: tc.ready, Phase: tc.phase, Resize: workload.Resize{Boost: tc.boost, By: tc.by},
			Containers: []workload.Container{{Name: "main", Resources: workload.Resources{CPU: 1000, CPULimit: 2000, Memory: 7}}}}
		b, boosted := podsize.Boosted(p)
		if boosted != tc.boosted {
			t.Errorf("%s: boosted %t", tc.reason, boosted)
			continue
		}
		want := int64(1000)
		if boosted {
			want = 500
			ends := b.Ends(p, created.Add(tc.after))
			if tc.ends < 0 != ends.IsZero() || tc.ends >= 0 && !ends.Equal(created.Add(tc.ends)) {
				t.Errorf("%s: it ends at %s", tc.reason, ends)
			}
		}
		if c := podsize.Usual(p)[0]; c.CPU != want || c.Memory != 7 || p.Containers[0].CPU != 1000 {
			t.Errorf("%s: it usually has %+v", tc.reason, c)
		}
	}
}
