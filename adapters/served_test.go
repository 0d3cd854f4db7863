package adapters

import (
	"slices"
	"strings"
	"testing"
)

// releases are two releases of a project with the versions that they serve.
type releases struct {
	adapters []string
	newest   string
	serves   []string
	oldest   string
	served   []string
}

// served has the versions that two releases of a project serve, by its CustomResourceDefinitions at the tags: the newest of
// 2026-08-21, and the newest before 2025-05-30.
var served = []releases{
	{[]string{"applications.argoproj.io"}, "Argo CD 3.5.1", []string{"v1alpha1"}, "3.0.5", []string{"v1alpha1"}},
	{[]string{"workflows.argoproj.io", "cronworkflows.argoproj.io"}, "Argo Workflows 4.1.2", []string{"v1alpha1"}, "3.6.8", []string{"v1alpha1"}},
	{[]string{"rollouts.argoproj.io"}, "Argo Rollouts 1.9.1", []string{"v1alpha1"}, "1.8.2", []string{"v1alpha1"}},
	{[]string{"autoscalingrunnersets.actions.github.com"}, "gha-runner-scale-set 0.14.2", []string{"v1alpha1"}, "0.11.0", []string{"v1alpha1"}},
	{[]string{"clonesets.apps.kruise.io"}, "OpenKruise 1.9.0", []string{"v1alpha1"}, "1.8.1", []string{"v1alpha1"}},
	{[]string{"clusters.postgresql.cnpg.io", "poolers.postgresql.cnpg.io"}, "CloudNativePG 1.30.0", []string{"v1"}, "1.26.0", []string{"v1"}},
	{[]string{"elasticsearches.elasticsearch.k8s.elastic.co", "kibanas.kibana.k8s.elastic.co"}, "ECK 3.5.0", []string{"v1", "v1beta1"},
		"3.0.0", []string{"v1", "v1beta1"}},
	{[]string{"flinkdeployments.flink.apache.org"}, "flink-kubernetes-operator 1.15.0", []string{"v1beta1"}, "1.11.0", []string{"v1beta1"}},
	{[]string{"helmreleases.helm.toolkit.fluxcd.io"}, "helm-controller 1.6.3", []string{"v2"}, "1.3.0", []string{"v2", "v2beta2", "v2beta1"}},
	{[]string{"inferenceservices.serving.kserve.io"}, "KServe 0.20.0", []string{"v1beta1"}, "0.15.2", []string{"v1beta1"}},
	{[]string{"jobsets.jobset.x-k8s.io"}, "JobSet 0.12.0", []string{"v1alpha2"}, "0.8.1", []string{"v1alpha2"}},
	{[]string{"kafkas.kafka.strimzi.io", "kafkaconnects.kafka.strimzi.io", "kafkanodepools.kafka.strimzi.io"}, "Strimzi 1.2.0",
		[]string{"v1"}, "0.46.0", []string{"v1beta2"}},
	{[]string{"kustomizations.kustomize.toolkit.fluxcd.io"}, "kustomize-controller 1.9.4", []string{"v1"}, "1.6.0",
		[]string{"v1", "v1beta2", "v1beta1"}},
	{[]string{"leaderworkersets.leaderworkerset.x-k8s.io"}, "LeaderWorkerSet 0.10.0", []string{"v1"}, "0.6.1", []string{"v1"}},
	{[]string{"localqueues.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io"}, "Kueue 0.19.2", []string{"v1beta2", "v1beta1"}, "0.12.1",
		[]string{"v1beta1"}},
	{[]string{"machinedeployments.cluster.x-k8s.io", "machinepools.cluster.x-k8s.io"}, "Cluster API 1.12.11",
		[]string{"v1beta2", "v1beta1"}, "1.10.2", []string{"v1beta1"}},
	{[]string{"nodepools.karpenter.sh"}, "Karpenter 1.14.1", []string{"v1"}, "1.5.0", []string{"v1"}},
	{[]string{"postgresqls.acid.zalan.do"}, "postgres-operator 2.0.1", []string{"v1"}, "1.14.0", []string{"v1"}},
	{[]string{"prometheuses.monitoring.coreos.com", "alertmanagers.monitoring.coreos.com"}, "prometheus-operator 0.93.0", []string{"v1"},
		"0.82.2", []string{"v1"}},
	{[]string{"rabbitmqclusters.rabbitmq.com"}, "RabbitMQ cluster operator 2.22.3", []string{"v1beta1"}, "2.13.0", []string{"v1beta1"}},
	{[]string{"rayclusters.ray.io", "rayservices.ray.io"}, "KubeRay 1.7.0", []string{"v1", "v1alpha1"}, "1.3.2", []string{"v1", "v1alpha1"}},
	{[]string{"redisreplications.redis.redis.opstreelabs.in"}, "redis-operator 0.26.0", []string{"v1beta2"}, "0.20.2", []string{"v1beta2"}},
	{[]string{"scaledobjects.keda.sh", "scaledjobs.keda.sh"}, "KEDA 2.20.2", []string{"v1alpha1"}, "2.17.1", []string{"v1alpha1"}},
	{[]string{"scheduledsparkapplications.sparkoperator.k8s.io"}, "spark-operator 2.5.2", []string{"v1beta2"}, "2.2.0", []string{"v1beta2"}},
	{[]string{"services.serving.knative.dev"}, "Knative Serving 1.23.0", []string{"v1"}, "1.17.1", []string{"v1"}},
	{[]string{"stacks.zalando.org"}, "stackset-controller 1.4.131", []string{"v1"}, "1.4.101", []string{"v1"}},
	{[]string{"virtualmachines.kubevirt.io"}, "KubeVirt 1.9.0", []string{"v1", "v1alpha3"}, "1.4.1", []string{"v1", "v1alpha3"}},
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
		i := slices.IndexFunc(served, func(r releases) bool { return slices.Contains(r.adapters, a.Name) })
		if i < 0 {
			t.Errorf("%s: no releases are listed", a.Name)
			continue
		}
		speaks := func(versions []string) bool {
			return slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(a.Spec.Target.Versions, v) })
		}
		if s := served[i]; !speaks(s.serves) || !speaks(s.served) {
			t.Errorf("%s speaks %v, but %s serves %v, and %s %v", a.Name, a.Spec.Target.Versions, s.newest, s.serves, s.oldest, s.served)
		}
	}
}
