package mercari_test

import (
	"encoding/json"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/mercari"
)

// TestSlotsOfAnotherZoneBeginAnew checks that slots begin anew in another time zone. Slots are local hours, and the
// checkpoint has the name of their zone.
func TestSlotsOfAnotherZoneBeginAnew(t *testing.T) {
	tokyo := time.FixedZone("Asia/Tokyo", 9*60*60)
	s := spec
	s.Zone = tokyo
	k := mercari.New()
	_, o := live(k, s, sunday, 8*24*time.Hour, nil)
	if k.Hours(s, o.Now, 0) == nil {
		t.Fatal("not every slot has a value after eight days")
	}
	raw, err := json.Marshal(k.Keep())
	if err != nil {
		t.Fatal(err)
	}
	restored := func() *mercari.Tuner {
		var kept mercari.Kept
		if err := json.Unmarshal(raw, &kept); err != nil {
			t.Fatal(err)
		}
		r, err := mercari.Restore(&kept)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, change := range map[string]struct {
		zone  *time.Location
		daily bool
		keeps bool
	}{"the same": {tokyo, false, true}, "UTC": {nil, false, false}, "by the day": {tokyo, true, false}} {
		r, next := restored(), s
		next.Zone, next.Daily = change.zone, change.daily
		r.Decide(next, o)
		if keeps := r.Hours(next, o.Now, 0) != nil; keeps != change.keeps {
			t.Errorf("%s: slots are kept: %t", name, keeps)
		}
	}
	daily := s
	daily.Daily = true
	k = mercari.New()
	if _, o = live(k, daily, sunday, 25*time.Hour, nil); k.Hours(daily, o.Now, 0) == nil {
		t.Error("not every slot of a day has a value after a day")
	}
	if _, err := mercari.Restore(k.Keep()); err != nil {
		t.Error(err)
	}
}
