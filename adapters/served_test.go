package adapters

import (
	"slices"
	"strings"
	"testing"
)

// releases are two releases of a project with the versions that they serve.
type releases struct {
	adapters       string // separated by blanks, as the versions are
	newest, serves string
	oldest, served string
}

// served has the versions that two releases of a project serve, by its CustomResourceDefinitions at the tags: the newest of
// 2026-08-21, and the newest before 2025-05-30.
var served = []releases{
	{"applications.argoproj.io", "Argo CD 3.5.1", "v1alpha1", "3.0.5", "v1alpha1"},
	{"workflows.argoproj.io cronworkflows.argoproj.io", "Argo Workflows 4.1.2", "v1alpha1", "3.6.8", "v1alpha1"},
	{"rollouts.argoproj.io", "Argo Rollouts 1.9.1", "v1alpha1", "1.8.2", "v1alpha1"},
	{"autoscalingrunnersets.actions.github.com", "gha-runner-scale-set 0.14.2", "v1alpha1", "0.11.0", "v1alpha1"},
	{"clonesets.apps.kruise.io", "OpenKruise 1.9.0", "v1alpha1", "1.8.1", "v1alpha1"},
	{"clusters.postgresql.cnpg.io poolers.postgresql.cnpg.io", "CloudNativePG 1.30.0", "v1", "1.26.0", "v1"},
	{"elasticsearches.elasticsearch.k8s.elastic.co kibanas.kibana.k8s.elastic.co", "ECK 3.5.0", "v1 v1beta1",
		"3.0.0", "v1 v1beta1"},
	{"flinkdeployments.flink.apache.org", "flink-kubernetes-operator 1.15.0", "v1beta1", "1.11.0", "v1beta1"},
	{"helmreleases.helm.toolkit.fluxcd.io", "helm-controller 1.6.3", "v2", "1.3.0", "v2 v2beta2 v2beta1"},
	{"inferenceservices.serving.kserve.io", "KServe 0.20.0", "v1beta1", "0.15.2", "v1beta1"},
	{"jobsets.jobset.x-k8s.io", "JobSet 0.12.0", "v1alpha2", "0.8.1", "v1alpha2"},
	{"kafkas.kafka.strimzi.io kafkaconnects.kafka.strimzi.io kafkanodepools.kafka.strimzi.io", "Strimzi 1.2.0",
		"v1", "0.46.0", "v1beta2"},
	{"kustomizations.kustomize.toolkit.fluxcd.io", "kustomize-controller 1.9.4", "v1", "1.6.0",
		"v1 v1beta2 v1beta1"},
	{"leaderworkersets.leaderworkerset.x-k8s.io", "LeaderWorkerSet 0.10.0", "v1", "0.6.1", "v1"},
	{"localqueues.kueue.x-k8s.io clusterqueues.kueue.x-k8s.io", "Kueue 0.19.2", "v1beta2 v1beta1", "0.12.1",
		"v1beta1"},
	{"machinedeployments.cluster.x-k8s.io machinepools.cluster.x-k8s.io", "Cluster API 1.12.11",
		"v1beta2 v1beta1", "1.10.2", "v1beta1"},
	{"nodepools.karpenter.sh", "Karpenter 1.14.1", "v1", "1.5.0", "v1"},
	{"postgresqls.acid.zalan.do", "postgres-operator 2.0.1", "v1", "1.14.0", "v1"},
	{"prometheuses.monitoring.coreos.com alertmanagers.monitoring.coreos.com thanosrulers.monitoring.coreos.com",
		"prometheus-operator 0.93.0", "v1", "0.82.2", "v1"},
	{"prometheusagents.monitoring.coreos.com", "prometheus-operator 0.93.0", "v1alpha1", "0.82.2", "v1alpha1"},
	{"rabbitmqclusters.rabbitmq.com", "RabbitMQ cluster operator 2.22.3", "v1beta1", "2.13.0", "v1beta1"},
	{"rayclusters.ray.io rayservices.ray.io", "KubeRay 1.7.0", "v1 v1alpha1", "1.3.2", "v1 v1alpha1"},
	{"redisreplications.redis.redis.opstreelabs.in", "redis-operator 0.26.0", "v1beta2", "0.20.2", "v1beta2"},
	{"scaledobjects.keda.sh scaledjobs.keda.sh", "KEDA 2.20.2", "v1alpha1", "2.17.1", "v1alpha1"},
	{"scheduledsparkapplications.sparkoperator.k8s.io", "spark-operator 2.5.2", "v1beta2", "2.2.0", "v1beta2"},
	{"services.serving.knative.dev", "Knative Serving 1.23.0", "v1", "1.17.1", "v1"},
	{"stacks.zalando.org", "stackset-controller 1.4.131", "v1", "1.4.101", "v1"},
	{"virtualmachines.kubevirt.io", "KubeVirt 1.9.0", "v1 v1alpha3", "1.4.1", "v1 v1alpha3"},
}

// TestAdaptersSpeakTheVersionsOfEighteenMonths checks that the newest release of each project, and one of 18 months before, serve a
// version of the adapter.
func TestAdaptersSpeakTheVersionsOfEighteenMonths(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if !strings.Contains(a.Spec.Target.Group, ".") {
			continue // served by every API server
		}
		i := slices.IndexFunc(served, func(r releases) bool { return slices.Contains(strings.Fields(r.adapters), a.Name) })
		if i < 0 {
			t.Errorf("%s: no releases are listed", a.Name)
			continue
		}
		speaks := func(versions string) bool {
			return slices.ContainsFunc(strings.Fields(versions), func(v string) bool { return slices.Contains(a.Spec.Target.Versions, v) })
		}
		if s := served[i]; !speaks(s.serves) || !speaks(s.served) {
			t.Errorf("%s speaks %v, but %s serves %v, and %s %v", a.Name, a.Spec.Target.Versions, s.newest, s.serves, s.oldest, s.served)
		}
	}
}
