package scene

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// AwaitClerk waits until the API server grants the rights of a clerk to a user.
func AwaitClerk(user string) {
	GinkgoHelper()
	suite.AwaitRight(Ctx, Env, user, "watch", "", "namespaces", true)
}

// SeriesOf reads the value of the series of a metric that has the given label values. It returns -1 if there is no such
// series.
func SeriesOf(m *harness.Manager, name string, values ...string) func(Gomega) float64 {
	return func(g Gomega) float64 {
		families, err := m.Registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, f := range families {
			for _, s := range f.GetMetric() {
				has := func(value string) bool {
					return slices.ContainsFunc(s.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == value })
				}
				if f.GetName() == name && !slices.ContainsFunc(values, func(v string) bool { return !has(v) }) {
					return s.GetGauge().GetValue()
				}
			}
		}
		return -1
	}
}
