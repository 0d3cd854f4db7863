package freeze

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// controllers are the service accounts of kube-controller-manager, where it runs with --use-service-account-credentials,
// whose controllers act on workloads and on pods that nothing controls.
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

// ControlPlane says whether a user is one of the control plane's own controllers. What they do follows from what users
// asked for, so it is not judged: children of a deleted owner are collected, a CronJob makes its Jobs, an autoscaler moves
// within its bounds.
func ControlPlane(user string) bool {
	if name, ok := strings.CutPrefix(user, controllerPrefix); ok {
		return controllers.Has(name)
	}
	return components.Has(user)
}

// ControlPlaneUsers lists the users for whom ControlPlane holds, sorted.
func ControlPlaneUsers() []string {
	users := components.Clone()
	for c := range controllers {
		users.Insert(controllerPrefix + c)
	}
	return sets.List(users)
}
