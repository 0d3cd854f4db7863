package scene

import (
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reasons returns the number of events about an object, by reason.
func Reasons(namespace, name string) func(Gomega) map[string]int {
	return func(g Gomega) map[string]int {
		var list eventsv1.EventList
		g.Expect(Env.Client.List(Ctx, &list, client.InNamespace(namespace))).To(Succeed())
		out := map[string]int{}
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Name == name {
				out[e.Reason]++
				if e.Series != nil {
					out[e.Reason] += int(e.Series.Count) - 1
				}
			}
		}
		return out
	}
}
