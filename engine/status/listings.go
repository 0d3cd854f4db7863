package status

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Listings knows, of each kind that is watched, whether the API server lists its objects and this program can read them. It is
// a collector of metrics and a readiness check.
type Listings struct {
	desc *prometheus.Desc

	mu    sync.Mutex
	kinds map[string]listing
}

type listing struct {
	// err is why the last list failed; nil: it did not.
	err error
	// required says that nothing can be served before the kind was listed once, which listed says has happened.
	required, listed bool
}

// NewListings makes an empty Listings. It registers nothing.
func NewListings() *Listings {
	return &Listings{
		kinds: map[string]listing{},
		desc: prometheus.NewDesc("flyball_kind_listed",
			"1 while the API server lists the objects of a kind that is watched and all of them can be read, else 0.", []string{"kind"}, nil),
	}
}

// Require says that this replica is not ready before a kind was listed once.
func (l *Listings) Require(kind string) {
	l.change(kind, func(k *listing) { k.required = true })
}

// Record remembers how a list of a kind went: nil for one that is through. It says whether that is another outcome than the
// last time.
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

// Forget drops a kind that is not watched any more.
func (l *Listings) Forget(kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.kinds, kind)
}

// Ready is a readiness check. The error names the first required kind that was never listed, and says why. A kind that was
// listed once does not take the replica away: it goes on to serve what it knows, and the metric tells.
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

// Collect implements prometheus.Collector. A kind of which nothing is known yet has no series.
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
