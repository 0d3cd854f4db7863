package status

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Listings records, for each watched kind, whether its objects can be listed and read. It is a collector of metrics and
// a readiness check.
type Listings struct {
	desc *prometheus.Desc

	mu    sync.Mutex
	kinds map[string]listing
}

type listing struct {
	// err is the error of the last list; nil: it succeeded.
	err error
	// required is true if this replica must not serve before the kind was listed once. listed is true after the first
	// list.
	required, listed bool
}

// NewListings returns an empty Listings. It registers nothing.
func NewListings() *Listings {
	return &Listings{
		kinds: map[string]listing{},
		desc: prometheus.NewDesc("flyball_kind_listed",
			"1 while all objects of a watched kind can be listed and read, else 0.", []string{"kind"}, nil),
	}
}

// Require makes the first list of a kind a condition of this replica's readiness.
func (l *Listings) Require(kind string) {
	l.change(kind, func(k *listing) { k.required = true })
}

// Record stores the result of listing a kind: nil for success. It reports whether the result has changed.
func (l *Listings) Record(kind string, err error) (changed bool) {
	l.change(kind, func(k *listing) {
		changed = (k.err == nil) != (err == nil) || err != nil && k.err.Error() != err.Error()
		k.err, k.listed = err, k.listed || err == nil
	})
	return changed
}

func (l *Listings) change(kind string, edit func(*listing)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[kind]
	edit(&k)
	l.kinds[kind] = k
}

// Forget drops a kind that is no longer watched.
func (l *Listings) Forget(kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.kinds, kind)
}

// Ready is a readiness check. The error names the first required kind never listed, with the reason. A later failure
// does not make the replica unready: it serves its last known state, and the metric shows the failure.
func (l *Listings) Ready(*http.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.kinds)) {
		switch k := l.kinds[name]; {
		case !k.required || k.listed:
		case k.err != nil:
			return fmt.Errorf("%s cannot be listed: %w", name, k.err)
		default:
			return fmt.Errorf("%s has not been listed yet", name)
		}
	}
	return nil
}

// Describe implements prometheus.Collector.
func (l *Listings) Describe(ch chan<- *prometheus.Desc) { ch <- l.desc }

// Collect implements prometheus.Collector. A kind without a result has no series.
func (l *Listings) Collect(ch chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, k := range l.kinds {
		switch {
		case k.err != nil:
			ch <- prometheus.MustNewConstMetric(l.desc, prometheus.GaugeValue, 0, name)
		case k.listed:
			ch <- prometheus.MustNewConstMetric(l.desc, prometheus.GaugeValue, 1, name)
		}
	}
}
