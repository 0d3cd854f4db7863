package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// These are the built versions. The go.mod files below build/ require the same versions (a test compares them); the
// versions are part of the cache key.
const (
	KubernetesVersion    = "v1.37.1"
	EtcdVersion          = "v3.7.0"
	KWOKVersion          = "v0.8.0"
	MetricsServerVersion = "v0.9.0"
	VPAVersion           = "v1.8.1"
	HelmVersion          = "v4.3.1"
	// PrometheusVersion is the version of the Go module: v0.313 is release 3.13.
	PrometheusVersion = "v0.313.5"
)

// These are the binaries, by file name.
const (
	binEtcd              = "etcd"
	binAPIServer         = "kube-apiserver"
	binKubectl           = "kubectl"
	binControllerManager = "kube-controller-manager"
	binScheduler         = "kube-scheduler"
	binKWOK              = "kwok"
	binMetricsServer     = "metrics-server"
	binVPARecommender    = "vpa-recommender"
	binHelm              = "helm"
	binPrometheus        = "prometheus"
	binPromtool          = "promtool"
)

// component is a binary with its module below build/.
type component struct {
	binary  string
	module  string // directory below build/
	pkg     string
	version string
	ldflags []string
	tags    string
	// apart means that the binary is cached by its own version and not by the cluster's, so that a new release causes
	// no other builds.
	apart bool
	// level is the first level that needs the binary; empty: built only on request by name.
	level Level
	// assets are data files in the binary's own module.
	assets []asset
}

// asset is one file of the share directory, joined from files of a module.
type asset struct {
	file   string
	module string // import path of the module with the sources
	// sources are joined as one multi-document YAML file.
	sources []string
}

// components returns all programs. But for Prometheus they are built from one module, so the packages of Kubernetes are compiled once for
// all and not once for each. One program that is all of them would spare five links more, a small part of the time.
func components() []component {
	kubernetes := versionFlags("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
	return []component{
		{binary: binEtcd, module: "programs", pkg: "go.etcd.io/etcd/server/v3", version: EtcdVersion, level: LevelAPI},
		{binary: binAPIServer, module: "programs", pkg: "k8s.io/kubernetes/cmd/kube-apiserver", version: KubernetesVersion, ldflags: kubernetes,
			level: LevelAPI},
		{binary: binKubectl, module: "programs", pkg: "k8s.io/kubernetes/cmd/kubectl", version: KubernetesVersion, ldflags: kubernetes,
			level: LevelAPI},
		{binary: binControllerManager, module: "programs", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", version: KubernetesVersion,
			ldflags: kubernetes, level: LevelWorkloads},
		{binary: binScheduler, module: "programs", pkg: "k8s.io/kubernetes/cmd/kube-scheduler", version: KubernetesVersion, ldflags: kubernetes,
			level: LevelWorkloads},
		{binary: binKWOK, module: "programs", pkg: "sigs.k8s.io/kwok/cmd/kwok", version: KWOKVersion, level: LevelWorkloads,
			assets: kwokAssets()},
		{binary: binMetricsServer, module: "programs", pkg: "sigs.k8s.io/metrics-server/cmd/metrics-server", version: MetricsServerVersion,
			level: LevelMetrics},
		{
			binary: binVPARecommender, module: "programs", pkg: "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender", version: VPAVersion,
			level: LevelMetrics,
			assets: []asset{{file: assetVPACRDs, module: "k8s.io/autoscaler/vertical-pod-autoscaler",
				sources: []string{"deploy/vpa-v1-crd-gen.yaml"}}},
		},
		{binary: binHelm, module: "programs", pkg: "helm.sh/helm/v4/cmd/helm", version: HelmVersion,
			ldflags: []string{"-X", "helm.sh/helm/v4/internal/version.version=" + HelmVersion}},
		prometheus(binPrometheus), prometheus(binPromtool),
	}
}

// prometheus returns a program of the Prometheus project, without service discovery in clouds, which is most of the
// code.
func prometheus(binary string) component {
	return component{binary: binary, module: "prometheus", pkg: "github.com/prometheus/prometheus/cmd/" + binary, version: PrometheusVersion,
		tags: "remove_all_sd", apart: true}
}

// versionFlags sets the release in the version packages. Without it the binaries report v0.0.0-master and refuse
// version-dependent defaults.
func versionFlags(packages ...string) []string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(KubernetesVersion, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	var flags []string
	for _, p := range packages {
		flags = append(flags,
			"-X", p+".gitVersion="+KubernetesVersion,
			"-X", p+".gitMajor="+major,
			"-X", p+".gitMinor="+minor)
	}
	return flags
}

// selectComponents returns the components of a level and the components requested by name.
func selectComponents(level Level, with []string) ([]component, error) {
	all := components()
	for _, name := range with {
		if !slices.ContainsFunc(all, func(c component) bool { return c.binary == name }) {
			return nil, fmt.Errorf("binary %q is not one that can be built", name)
		}
	}
	return slices.DeleteFunc(all, func(c component) bool {
		needed := c.level != "" && level.includes(c.level)
		return !needed && !slices.Contains(with, c.binary)
	}), nil
}
