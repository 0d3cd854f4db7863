package status

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

// savingsKey identifies an account: a policy, and a namespace of its targets (empty: cluster-scoped).
type savingsKey struct {
	Policy    workload.Policy
	Namespace string
}

// amount is the saving at an instant.
type amount struct {
	replicas, milliCPU, memory int64
}

func (a amount) plus(b amount, sign int64) amount {
	return amount{a.replicas + sign*b.replicas, a.milliCPU + sign*b.milliCPU, a.memory + sign*b.memory}
}

// account is the saving of a policy in a namespace.
type account struct {
	now amount
	// replicaSeconds, coreSeconds and byteSeconds are the sums over time, up to since.
	replicaSeconds, coreSeconds, byteSeconds float64
	since                                    time.Time
}

// settle adds the time until now to the sums, in place.
func (a *account) settle(now time.Time) {
	if passed := now.Sub(a.since).Seconds(); passed > 0 {
		a.replicaSeconds += float64(a.now.replicas) * passed
		a.coreSeconds += float64(a.now.milliCPU) / 1000 * passed
		a.byteSeconds += float64(a.now.memory) * passed
	}
	a.since = now
}

// share is a target's part of an account.
type share struct {
	key    savingsKey
	amount amount
}

// Savings adds up the savings of policies: the difference between the owners' replicas and the current replicas, and the
// CPU and memory requests of these replicas, now and over time. It also computes the worth of the savings, by the rates of
// the installation. Sums over time are exact: they are updated at each change and each read, not sampled. Savings is a
// prometheus.Collector.
type Savings struct {
	clock clock.PassiveClock
	// exists reports whether a policy exists. Remaining savings of a deleted policy do not count.
	exists func(workload.Policy) bool
	// series are the metrics of every installation, and the metrics for the known rates.
	series []series

	mu       sync.Mutex
	accounts map[savingsKey]*account
	shares   map[workload.Ref][]share
}

// NewSavings returns an empty Savings. exists reports whether a policy exists; it must not call the Savings. There are metrics
// of money and CO2 only if their rates are known.
func NewSavings(clock clock.PassiveClock, rates Rates, exists func(workload.Policy) bool) *Savings {
	return &Savings{clock: clock, exists: exists, series: append(slices.Clone(all), ofRates(rates)...), accounts: map[savingsKey]*account{},
		shares: map[workload.Ref][]share{}}
}

// Set replaces the savings on a target. Raised counts do not reduce the savings. requests are the requests of one pod; nil: unknown.
func (b *Savings) Set(ref workload.Ref, saved []adapter.Saving, requests *workload.Requests) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.shares[ref]
	if len(old) == 0 && len(saved) == 0 {
		return
	}
	var next []share
	for _, s := range saved {
		if s.Replicas <= 0 || !b.exists(s.By) {
			continue
		}
		a := amount{replicas: s.Replicas}
		if requests != nil {
			a.milliCPU, a.memory = s.Replicas*requests.MilliCPU, s.Replicas*requests.MemoryBytes
		}
		next = append(next, share{savingsKey{s.By, ref.Namespace}, a})
	}
	if slices.Equal(old, next) {
		return
	}
	for _, s := range old {
		b.add(s, -1)
	}
	for _, s := range next {
		b.add(s, 1)
	}
	if len(next) == 0 {
		delete(b.shares, ref)
		return
	}
	b.shares[ref] = next
}

// add adds a share to its account, or with sign -1 removes it.
func (b *Savings) add(s share, sign int64) {
	a := b.accounts[s.key]
	if a == nil {
		if sign < 0 {
			return // the account has been closed
		}
		a = &account{since: b.clock.Now()}
		b.accounts[s.key] = a
	}
	a.settle(b.clock.Now())
	a.now = a.now.plus(s.amount, sign)
}

// ForgetPolicy drops every sum of a deleted policy.
func (b *Savings) ForgetPolicy(id workload.Policy) {
	b.forget(func(k savingsKey) bool { return k.Policy == id })
}

// ForgetNamespace drops every sum of a deleted namespace.
func (b *Savings) ForgetNamespace(name string) {
	b.forget(func(k savingsKey) bool { return k.Namespace == name })
}

func (b *Savings) forget(gone func(savingsKey) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.accounts, func(k savingsKey, _ *account) bool { return gone(k) })
	for ref, shares := range b.shares {
		if left := slices.DeleteFunc(slices.Clone(shares), func(s share) bool { return gone(s.key) }); len(left) == 0 {
			delete(b.shares, ref)
		} else {
			b.shares[ref] = left
		}
	}
}

// labels are the labels of every series. The name namespace is not used, because Prometheus adds such a label, with the
// manager's namespace, at the scrape.
var labels = []string{"policy_kind", "policy", "target_namespace"}

// series describes a metric.
type series struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*account) float64
}

var all = []series{
	gauge("flyball_saved_replicas", "Replicas fewer than their owners want, by the policy that took them away and by namespace.",
		func(a *account) float64 { return float64(a.now.replicas) }),
	gauge("flyball_saved_cpu_cores", "CPU that the pods of these replicas would request.",
		func(a *account) float64 { return float64(a.now.milliCPU) / 1000 }),
	gauge("flyball_saved_memory_bytes", "Memory that the pods of these replicas would request.",
		func(a *account) float64 { return float64(a.now.memory) }),
	counter("flyball_saved_replica_seconds_total", "flyball_saved_replicas added up over time.",
		func(a *account) float64 { return a.replicaSeconds }),
	counter("flyball_saved_cpu_core_seconds_total", "flyball_saved_cpu_cores added up over time.",
		func(a *account) float64 { return a.coreSeconds }),
	counter("flyball_saved_memory_byte_seconds_total", "flyball_saved_memory_bytes added up over time.",
		func(a *account) float64 { return a.byteSeconds }),
}

// ofRates returns the metrics of rates. A currency without a name gives an empty label, which Prometheus leaves out.
func ofRates(rates Rates) []series {
	of := func(name, help string, rate *Rate, more prometheus.Labels) series {
		const hour, gib = 3600, 1 << 30
		return series{prometheus.NewDesc(name, help, labels, more), prometheus.CounterValue,
			func(a *account) float64 { return rate.Of(a.coreSeconds/hour, a.byteSeconds/hour/gib) }}
	}
	var found []series
	if rates.Price != nil {
		found = append(found, of("flyball_saved_cost_total", "What the saved CPU and memory would have cost, by the installation's price.",
			rates.Price, prometheus.Labels{"currency": rates.Price.Unit}))
	}
	if rates.CO2 != nil {
		found = append(found, of("flyball_saved_co2_grams_total", "The CO2 of the saved CPU and memory, by the installation's rate.",
			rates.CO2, nil))
	}
	return found
}

func gauge(name, help string, read func(*account) float64) series {
	return series{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue, read}
}

func counter(name, help string, read func(*account) float64) series {
	return series{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue, read}
}

// Describe implements prometheus.Collector.
func (b *Savings) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range b.series {
		ch <- s.desc
	}
}

// Collect implements prometheus.Collector.
func (b *Savings) Collect(ch chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	for key, a := range b.accounts {
		a.settle(now)
		for _, s := range b.series {
			ch <- prometheus.MustNewConstMetric(s.desc, s.kind, s.read(a), key.Policy.Kind, key.Policy.Label(), key.Namespace)
		}
	}
}
