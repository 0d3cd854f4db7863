package world_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/world"
)

func fileOf(day string) string {
	return "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:" + day + "\nEND:VEVENT\nEND:VCALENDAR\n"
}

// TestFilesAreReadOutsideTheLock changes a calendar, its file and a calendar that includes it.
func TestFilesAreReadOutsideTheLock(t *testing.T) {
	w := world.New(world.Scope("flyball-system", nil))
	inside := w.CountFiles()
	key := v1alpha1.ConfigMapKey{Namespace: "shop", Name: "days", Key: "a.ics"}
	filed := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: "filed", UID: "1", Generation: 1},
		Spec: v1alpha1.CalendarSpec{ICS: &v1alpha1.CalendarICS{ConfigMap: &key}}}
	inline := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: "inline", UID: "2", Generation: 1},
		Spec: v1alpha1.CalendarSpec{ICS: &v1alpha1.CalendarICS{Inline: fileOf("20370701")}, Include: []string{"filed"}}}
	apply := func(changed []*v1alpha1.Calendar, text string) {
		files := w.Snapshot().ReadFiles(changed, map[v1alpha1.ConfigMapKey]string{key: text})
		w.Update(func(tx *world.Tx) {
			tx.SetFiles(files)
			tx.SetText(key, text, nil)
			for _, c := range changed {
				tx.SetCalendar(c)
			}
		})
	}
	on := func(month time.Month, day, hour int) bool {
		c, _ := w.Snapshot().Calendar("inline")
		return c.Days.At(time.Date(2037, month, day, hour, 0, 0, 0, time.UTC)).Active
	}

	apply([]*v1alpha1.Calendar{filed, inline}, fileOf("20370601"))
	if !on(6, 1, 12) || !on(7, 1, 12) {
		t.Error("not on during the days of both files")
	}
	apply(nil, fileOf("20370602"))
	if on(6, 1, 12) || !on(6, 2, 12) || !on(7, 1, 12) {
		t.Error("not on during the days of the changed file")
	}
	moved := filed.DeepCopy()
	moved.Generation, moved.Spec.TimeZone = 2, "Asia/Tokyo"
	apply([]*v1alpha1.Calendar{moved}, fileOf("20370602"))
	if !on(6, 1, 16) || on(6, 2, 16) {
		t.Error("not on during the day in the changed zone")
	}
	apply([]*v1alpha1.Calendar{moved}, "")
	if c, _ := w.Snapshot().Calendar("filed"); !strings.Contains(c.Invalid.ToAggregate().Error(), "is no calendar file") {
		t.Errorf("an empty file has the errors %v", c.Invalid)
	}
	if *inside != 0 {
		t.Errorf("transactions read %d files", *inside)
	}
}
