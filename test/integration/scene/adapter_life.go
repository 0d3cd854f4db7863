package scene

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
)

// NightlyOver creates a Schedule called nights, asleep from 20:00 to 08:00 UTC. The function change adjusts it before
// it is created.
func NightlyOver(namespace string, change func(*v1alpha1.Schedule)) *v1alpha1.Schedule {
	GinkgoHelper()
	s := &v1alpha1.Schedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nights"},
		Spec:       v1alpha1.ScheduleSpec{ScheduleRules: v1alpha1.ScheduleRules{Upscale: "0 8 * * *", Downscale: "0 20 * * *"}},
	}
	change(s)
	Expect(Env.Client.Create(Ctx, s)).To(Succeed())
	DeferCleanup(Remove, s)
	return s
}

// PressNights creates the Schedule of nightlyOver for one kind.
func PressNights(namespace string, k customkind.Kind) *v1alpha1.Schedule {
	GinkgoHelper()
	return NightlyOver(namespace, func(s *v1alpha1.Schedule) { s.Spec.Target.Kinds = []v1alpha1.KindRef{k.Ref()} })
}

// Clerk gives rights to a manager with few rights. It has all rights except those for the adapters of custom kinds.
const Clerk = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [flyball.dev], resources: ["*"], verbs: [get, list, watch, patch]}
- {apiGroups: [""], resources: [namespaces], verbs: [get, list, watch]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
- {apiGroups: [apps], resources: [deployments, statefulsets, daemonsets, replicasets], verbs: [get, list, watch, patch]}
- {apiGroups: [batch], resources: [jobs, cronjobs], verbs: [get, list, watch, patch]}
- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [get, list, watch, patch]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [list, watch]}
- {apiGroups: [apiregistration.k8s.io], resources: [apiservices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`

// Targets reads the counts of a Schedule.
func Targets(namespace, name string) func(Gomega) v1alpha1.TargetCounts {
	return func(g Gomega) v1alpha1.TargetCounts {
		var s v1alpha1.Schedule
		g.Expect(Env.Client.Get(Ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)).To(Succeed())
		g.Expect(s.Status.Targets).NotTo(BeNil())
		return *s.Status.Targets
	}
}
