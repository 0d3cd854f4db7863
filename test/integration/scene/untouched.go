package scene

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CronJob returns a CronJob that its owner has suspended or not. It does not create it.
func CronJob(namespace, name string, suspended *bool) *batchv1.CronJob {
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.Spec.Schedule, c.Spec.Suspend = "*/5 * * * *", suspended
	c.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "example.com/report:1"}},
	}
	return c
}
