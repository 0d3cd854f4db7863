package gate

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func TestDriftSlowsDownToOneAMinute(t *testing.T) {
	c := NewContest()
	ref := webs(1)
	now := noon
	var corrected []time.Time
	for now.Before(noon.Add(30 * time.Minute)) {
		if again := c.notBefore(ref, now, true); !again.IsZero() {
			if !again.After(now) {
				t.Fatalf("told at %v to come again at %v", now, again)
			}
			now = again
			continue
		}
		name := ""
		if c.needsWriterName(ref, now) {
			name = "argocd"
		}
		c.setCorrected(ref, now, name)
		corrected = append(corrected, now)
	}
	for i := 4; i < len(corrected); i++ {
		if gap := corrected[i].Sub(corrected[i-1]); gap < time.Minute {
			t.Errorf("correction %d came %v after the one before, want at least a minute", i, gap)
		}
	}
	if got := c.Writer(ref); got != "argocd" {
		t.Errorf("the other writer is %q, want argocd", got)
	}
	last := corrected[len(corrected)-1]
	if again := c.Until(ref, last.Add(contestTimeout-time.Second)); !again.Equal(last.Add(contestTimeout)) {
		t.Errorf("before contestTimeout, looks again at %v", again)
	}
	c.Until(ref, last.Add(contestTimeout))
	if got := c.Writer(ref); got != "" {
		t.Errorf("after contestTimeout the contest with %q goes on", got)
	}
	if again := c.notBefore(ref, last.Add(contestTimeout), true); !again.IsZero() {
		t.Errorf("after contestTimeout a correction waits until %v", again)
	}
	if again := c.notBefore(ref, last, false); !again.IsZero() {
		t.Errorf("what is no correction waits until %v", again)
	}
}

func TestRepeatedWriteCountsAsCorrection(t *testing.T) {
	c := NewContest()
	ref, other := webs(1), webs(2)
	nights := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	asleep, awake := digest(adapter.Result{By: nights, Message: "replicas 3 -> 0"}),
		digest(adapter.Result{By: nights, Message: "replicas 0 -> 3"})
	others := digest(adapter.Result{By: workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "weekends"}, Message: "replicas 3 -> 0"})
	c.setWritten(ref, asleep, noon)
	for _, tc := range []struct {
		name string
		ref  workload.Ref
		sum  uint64
		at   time.Time
		want bool
	}{
		{"the same", ref, asleep, noon.Add(time.Minute), true},
		{"the same, long after", ref, asleep, noon.Add(contestTimeout + time.Second), false},
		{"another", ref, awake, noon.Add(time.Minute), false},
		{"that of another policy", ref, others, noon.Add(time.Minute), false},
		{"that of another target", other, asleep, noon.Add(time.Minute), false},
	} {
		if got := c.repeated(tc.ref, tc.sum, tc.at); got != tc.want {
			t.Errorf("%s: repeated is %t, want %t", tc.name, got, tc.want)
		}
	}
	c.setWritten(ref, awake, noon.Add(time.Minute))
	if c.repeated(ref, asleep, noon.Add(time.Minute)) {
		t.Error("to sleep again after waking repeats nothing")
	}
	c.setWritten(other, asleep, noon.Add(2*contestTimeout))
	if len(c.wrote) != 1 {
		t.Errorf("%d writes are remembered, want the one that is not long past", len(c.wrote))
	}
	c.Forget(other)
	if c.repeated(other, asleep, noon.Add(2*contestTimeout)) {
		t.Error("a target that is gone is remembered")
	}
}
