package plan

import (
	"testing"
	"time"
)

func TestPointersAreReadable(t *testing.T) {
	for pointer, want := range map[string]string{
		"":               "",
		"/spec/replicas": ".spec.replicas",
		"/spec/template/spec/nodeSelector/flyball.dev~1asleep":  "...spec.nodeSelector['flyball.dev/asleep']",
		"/spec/nodeSets/0/count":                                ".spec.nodeSets[0].count",
		"/metadata/annotations/example.com~1x":                  ".metadata.annotations['example.com/x']",
		"/spec/template/spec/containers/0/resources/limits/cpu": "...spec.containers[0].resources.limits.cpu",
	} {
		if got := Readable(pointer); got != want {
			t.Errorf("%s is shown as %q, want %q", pointer, got, want)
		}
	}
}

func TestCellsOfASpan(t *testing.T) {
	for span, want := range map[time.Duration]struct {
		size string
		n    int
	}{
		time.Minute: {"1m", 1}, time.Hour: {"2m", 30}, 12 * time.Hour: {"15m", 48}, 48 * time.Hour: {"1h", 48}, 7 * day: {"3h", 56},
		28 * day: {"12h", 56},
		90 * day: {"2d", 45}, 365 * day: {"7d", 53},
	} {
		size, n := cells(span)
		if spanText(size) != want.size || n != want.n || n > barCells || time.Duration(n)*size < span {
			t.Errorf("%s has %d cells of %s, want %d of %s", span, n, spanText(size), want.n, want.size)
		}
	}
}
