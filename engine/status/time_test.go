package status_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/engine/status"
)

// Users write 9999-12-31 for "for ever"; the end of that day is in the year 10000, which RFC 3339 cannot express.
func TestTimesAreReadableByRFC3339(t *testing.T) {
	end := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, at := range []time.Time{{}, end, end.Add(time.Second), end.In(time.FixedZone("east", 3600))} {
		text, err := json.Marshal(status.TimeOf(at))
		if err != nil {
			t.Fatal(err)
		}
		var read *metav1.Time
		if err := json.Unmarshal(text, &read); err != nil {
			t.Errorf("%s: %v", at, err)
		} else if known := !at.IsZero() && !at.After(end); known != (read != nil) {
			t.Errorf("%s is %v", at, read)
		}
	}
}
