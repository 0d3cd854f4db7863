package ledger

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// TestAClaimIsHonouredOnce combines the claims in an entry with the outcome of the entry's write to /scale.
func TestAClaimIsHonouredOnce(t *testing.T) {
	claim := workload.Once{By: peaks.String(), Since: monday, Asked: "6"}
	other := workload.Once{By: nights.String(), Since: monday, Asked: "9"}
	remembers := map[string]workload.Entry{
		"nothing of it":       workload.Entry{}.HandOnce(other, true),
		"it as its own":       workload.Entry{}.HandOnce(claim, true),
		"it as interrupted":   workload.Entry{}.HandOnce(claim, true).HandOnce(other, true),
		"an older one of it":  workload.Entry{}.HandOnce(workload.Once{By: claim.By, Since: monday.Add(-time.Hour), Asked: "6"}, true),
		"it with another ask": workload.Entry{}.HandOnce(workload.Once{By: claim.By, Since: monday, Asked: "7"}, true),
	}
	// honoured lists the cases without a need to set: by the memory, then by whether the write succeeded.
	honoured := map[string]map[bool]bool{
		"it as its own":     {true: true, false: false},
		"it as interrupted": {true: true, false: true},
	}
	for name, entry := range remembers {
		for _, came := range []bool{false, true} {
			for _, resumed := range []bool{false, true} {
				entry.Was, entry.Set, entry.Pending = "3", "6", true
				l := TrackedField{Entry: entry, field: workload.Field{Raw: "3"}}
				if came {
					l.field.Raw = "6"
				}
				w := Want{By: peaks, Since: monday, Once: "6", Resumed: resumed}
				if got, want := w.isHonoured(&l), resumed || honoured[name][came]; got != want {
					t.Errorf("the entry remembers %s, the write came: %t, resumed: %t: honoured is %t", name, came, resumed, got)
				}
			}
		}
	}
}

var (
	monday = time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)
	nights = workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	peaks  = workload.Policy{Kind: "Trigger", Namespace: "shop", Name: "peaks"}
)
