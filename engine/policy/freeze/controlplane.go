package freeze

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// controllers are the service accounts of kube-controller-manager (with --use-service-account-credentials) whose
// controllers write workloads and pods.
var controllers = sets.New(
	"cronjob-controller", "daemon-set-controller", "deployment-controller", "device-taint-eviction-controller",
	"disruption-controller",
	"generic-garbage-collector", "horizontal-pod-autoscaler", "job-controller", "namespace-controller",
	"node-controller", "persistent-volume-binder", "pod-garbage-collector", "replicaset-controller", "replication-controller",
	"statefulset-controller", "ttl-after-finished-controller",
)

// components are the accounts of the control plane's own processes.
var components = sets.New(
	"system:apiserver", "system:kube-controller-manager", "system:kube-scheduler",
)

const controllerPrefix = "system:serviceaccount:kube-system:"

// ControlPlane reports whether a user is one of the control plane's own controllers. Their changes follow from changes by
// users and are not judged. For example, they delete the children of a deleted owner, create the Jobs of a CronJob, or
// scale within the bounds of an autoscaler.
func ControlPlane(user string) bool {
	if name, ok := strings.CutPrefix(user, controllerPrefix); ok {
		return controllers.Has(name)
	}
	return components.Has(user)
}

// ControlPlaneUsers returns the users for which ControlPlane is true, sorted.
func ControlPlaneUsers() []string {
	users := components.Clone()
	for c := range controllers {
		users.Insert(controllerPrefix + c)
	}
	return sets.List(users)
}
