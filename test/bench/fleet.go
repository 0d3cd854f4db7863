package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// scheduledLabel is the label of the namespaces that the schedule selects.
const scheduledLabel = "bench.flyball.dev/scheduled"

// grow creates Deployments until there are n. Each is created as by a package manager and gets a status as from its
// controller, so that it has an ordinary size and two field managers.
func (s *stage) grow(ctx context.Context, n int) error {
	if n <= s.grown {
		return nil
	}
	began, first := time.Now(), s.grown
	if err := s.namespaces(ctx, first/s.perNamespace, (n+s.perNamespace-1)/s.perNamespace); err != nil {
		return err
	}
	err := parallel(ctx, s.writers, n-first, func(ctx context.Context, i int) error {
		d := s.deployment(first + i)
		client := s.clients.AppsV1().Deployments(d.Namespace)
		created, err := client.Create(ctx, d, metav1.CreateOptions{FieldManager: "helm"})
		if err != nil {
			return fmt.Errorf("create %s/%s: %w", d.Namespace, d.Name, err)
		}
		created.Status = available(created)
		if _, err := client.UpdateStatus(ctx, created, metav1.UpdateOptions{FieldManager: "kube-controller-manager"}); err != nil {
			return fmt.Errorf("set the status of %s/%s: %w", d.Namespace, d.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.grown = n
	raw, err := s.clients.AppsV1().RESTClient().Get().Resource("deployments").Namespace(s.namespaceOf(n-1)).Name(deploymentName(n-1)).
		SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("read the last Deployment: %w", err)
	}
	s.report.say("%d Deployments of %d bytes of JSON are there, %d of them made in %s", n, len(raw), n-first,
		time.Since(began).Round(time.Second))
	return nil
}

func (s *stage) namespaces(ctx context.Context, from, to int) error {
	return parallel(ctx, s.writers, to-from, func(ctx context.Context, i int) error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(from + i),
			Labels: map[string]string{"team": fmt.Sprint("team-", (from+i)%20)}}}
		if (from+i)*s.perNamespace < s.targets {
			ns.Labels[scheduledLabel] = "true"
		}
		_, err := s.clients.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the namespace %s: %w", ns.Name, err)
		}
		return nil
	})
}

func namespaceName(i int) string { return fmt.Sprintf("bench-%04d", i) }

func (s *stage) namespaceOf(i int) string { return namespaceName(i / s.perNamespace) }

func deploymentName(i int) string {
	return fmt.Sprintf("%s-%05d", []string{"checkout-api", "payment-worker", "catalog-frontend", "session-cache"}[i%4], i)
}

func (s *stage) deployment(i int) *appsv1.Deployment {
	name := deploymentName(i)
	replicas, quarter := int32(1+i%5), intstr.FromString("25%")
	pod := map[string]string{"app.kubernetes.io/name": name[:len(name)-6], "app.kubernetes.io/instance": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespaceOf(i), Name: name,
			Labels: map[string]string{
				"app.kubernetes.io/name": name[:len(name)-6], "app.kubernetes.io/instance": name, "app.kubernetes.io/version": "1.27.3",
				"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "service-4.1.0", "tier": []string{"front", "back"}[i%2],
			},
			Annotations: map[string]string{
				"deployment.kubernetes.io/revision": "3", "meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": s.namespaceOf(i),
			},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: pod},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: pod,
					Annotations: map[string]string{"checksum/config": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},
				Spec: corev1.PodSpec{
					ServiceAccountName: "service",
					Containers:         []corev1.Container{container(name)},
					Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
						ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}},
				},
			},
		},
	}
}

func container(name string) corev1.Container {
	of := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	return corev1.Container{
		Name: "main", Image: "registry.example.com/shop/" + name + ":1.27.3",
		Args:  []string{"--config=/etc/service/config.yaml", "--log-level=info"},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		Env: []corev1.EnvVar{
			{Name: "LOG_FORMAT", Value: "json"},
			{Name: "REGION", Value: "eu-central"},
			{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		},
		Resources:    corev1.ResourceRequirements{Requests: of("100m", "128Mi"), Limits: of("1", "512Mi")},
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/service", ReadOnly: true}},
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 10, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromString("http")}}},
	}
}

// available returns the status of a Deployment after its roll-out.
func available(d *appsv1.Deployment) appsv1.DeploymentStatus {
	n, now := *d.Spec.Replicas, metav1.Now()
	condition := func(kind appsv1.DeploymentConditionType, reason, message string) appsv1.DeploymentCondition {
		return appsv1.DeploymentCondition{Type: kind, Status: corev1.ConditionTrue, LastUpdateTime: now, LastTransitionTime: now, Reason: reason,
			Message: message}
	}
	return appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: []appsv1.DeploymentCondition{
			condition(appsv1.DeploymentAvailable, "MinimumReplicasAvailable", "Deployment has minimum availability."),
			condition(appsv1.DeploymentProgressing, "NewReplicaSetAvailable",
				fmt.Sprintf("ReplicaSet %q has successfully progressed.", d.Name+"-6b7f9c4d58")),
		},
	}
}
