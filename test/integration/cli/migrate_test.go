package cli

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// night is an instant at which workloads sleep.
var night = noon.Add(10 * time.Hour)

// The specs put workloads to sleep as other tools do, and then run kubectl flyball migrate. The tools themselves do not run: the specs
// write the objects that the tools would write. The kinds of the tools are served only meanwhile.
var _ = Describe("A migration", Ordered, ContinueOnFailure, func() {
	BeforeAll(installForeign)
	Describe("The printed output", printedOutput)
	Describe("Workloads that another tool has put to sleep", sleepersOfTools)
	Describe("A take-over", takeOver)
	Describe("The printed steps for a live kube-downscaler", printedSteps)
})

// foreign are the kinds of the tools, and the other custom kinds that the tools put to sleep.
var foreign = []struct{ plural, group, kind, version, scope string }{
	{"lightsoutschedules", "lightsout.techsupport.mk", "LightsOutSchedule", "v1alpha1", "Cluster"},
	{"sleepinfos", "kube-green.com", "SleepInfo", "v1alpha1", "Namespaced"},
	{"changefreezes", "freeze-operator.io", "ChangeFreeze", "v1alpha1", "Cluster"},
	{"scaledobjects", "keda.sh", "ScaledObject", "v1alpha1", "Namespaced"},
	{"applications", "argoproj.io", "Application", "v1alpha1", "Namespaced"},
	{"kustomizations", "kustomize.toolkit.fluxcd.io", "Kustomization", "v1", "Namespaced"},
	{"helmreleases", "helm.toolkit.fluxcd.io", "HelmRelease", "v2", "Namespaced"},
}

const anyCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: %[5]s
  names: {kind: %[3]s, listKind: %[3]sList, plural: %[1]s, singular: a%[1]s}
  versions:
  - {name: %[4]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// migrators are two users. One may read everything and write nothing. The other may patch Deployments too.
const migrators = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: migration-view}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: migration-view}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: migration-view}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: deployer}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: migration-patch}
rules: [{apiGroups: [apps], resources: [deployments], verbs: [patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: migration-patch}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: migration-patch}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: deployer}]
`

// alsoInUse are the adapters that only the migration needs.
var alsoInUse = []string{"daemonsets.apps", "scaledobjects.keda.sh", "applications.argoproj.io",
	"kustomizations.kustomize.toolkit.fluxcd.io", "helmreleases.helm.toolkit.fluxcd.io"}

// installForeign serves the kinds of the tools until the end of the specs, puts adapters to use, and creates the users of the migration.
func installForeign() {
	for _, k := range foreign {
		Expect(env.Apply(ctx, fmt.Appendf(nil, anyCRD, k.plural, k.group, k.kind, k.version, k.scope))).To(Succeed())
		DeferCleanup(suite.Remove, ctx, env, object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", k.plural+"."+k.group))
	}
	Expect(env.AwaitCRDs(ctx)).To(Succeed())
	Expect(env.InstallAdapters(ctx, alsoInUse...)).To(Succeed())
	for _, name := range alsoInUse {
		DeferCleanup(suite.Remove, ctx, env, &v1alpha1.Adapter{ObjectMeta: objectMeta("", name)})
	}
	Expect(env.AwaitAdapters(ctx, alsoInUse...)).To(Succeed())
	apply(migrators)
	suite.AwaitWebhook(ctx, env)
}

// migrate runs kubectl flyball migrate as a user.
func migrate(user string, args ...string) outcome {
	GinkgoHelper()
	return run(user, "", append([]string{"migrate"}, args...)...)
}
