// Package cluster runs a real Kubernetes control plane on one machine, for tests: the binaries of a release, built from
// Go modules, as one process each on loopback ports, without containers and without a network. A started cluster
// answers requests, clusters do not interfere with each other, and no process of a cluster outlives the process that
// started the cluster.
//
// There are three levels. LevelAPI is etcd and the API server: objects are stored, validated and watched, and no
// controller acts on them: there is no garbage collection, namespaces are never finalised, and the aggregated roles
// view, edit and admin are empty. LevelWorkloads adds the controller manager, the scheduler and KWOK, which simulates
// the kubelets of nodes in three zones, so that pods become ready and jobs complete without any container. LevelMetrics
// adds the resource metrics API, with simulated usage, and the recommender of the vertical pod autoscaler.
//
// # Steering simulated pods
//
// The usage of each container of a pod is read from the pod's annotations kwok.x-k8s.io/usage-cpu and
// kwok.x-k8s.io/usage-memory (quantities; they may change on a live pod). A pod with the annotation HoldAnnotation is
// scheduled but does not become ready until the annotation is removed. Claims of the default storage class,
// kwok-volume, are bound at once.
package cluster
