package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
)

// zone is the time zone of the schedules.
const zone = "Europe/Berlin"

// days is the length of the demo: a week. On the Monday morning after it all targets wake again.
const days = 7

// lastHour is the end of that morning.
const lastHour = days*24 + 9

// holiday is the public holiday of the week, Ascension Day.
const holiday = 3

// start returns the Monday on which the week begins.
func start() (time.Time, error) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return time.Time{}, fmt.Errorf("load the time zone of the demo: %w", err)
	}
	return time.Date(2037, time.May, 11, 0, 0, 0, 0, loc), nil
}

// week is the expected time awake of a target, per day from Monday to the next Monday, as "from-to" in hours. It is
// written by hand, without the code under demonstration.
type week [days + 1]string

var (
	officeHours = week{"8-20", "8-20", "8-20", "", "8-20", "", "", "8-24"}
	dataFirst   = week{"7-21", "7-21", "7-21", "", "7-21", "", "", "7-24"}
	rendering   = week{"0-23", "7-21", "7-21", "", "7-21", "", "", "7-24"} // an Override keeps it awake on Monday
	everyDay    = week{"8-20", "8-20", "8-20", "8-20", "8-20", "8-20", "8-20", "8-24"}
	shopOpen    = week{"6-22", "6-22", "6-22", "6-22", "6-22", "6-22", "", "6-24"}
	// never is for objects that must not be changed.
	never *week
)

// awake reports whether a target is due to be awake in an hour counted from the start.
func (w *week) awake(hour int) bool {
	if w == nil {
		return true
	}
	from, to, ok := strings.Cut(w[hour/24], "-")
	if !ok {
		return false
	}
	// Invalid numbers would be a mistake in the table above, whose test parses all of them.
	first, _ := strconv.Atoi(from)
	end, _ := strconv.Atoi(to)
	return first <= hour%24 && hour%24 < end
}

// transitions returns the hours at which a target changes, including the start if it sleeps then.
func (w *week) transitions() []int {
	var out []int
	before := true
	for hour := range lastHour {
		if is := w.awake(hour); is != before {
			out = append(out, hour)
			before = is
		}
	}
	return out
}

// level is the setting of an object: in words, and as a size. A size of 0 means no consumption.
type level struct {
	text string
	size int64
}

// target is one object of the demo.
type target struct {
	// kind is the displayed kind.
	kind, name string
	resource   schema.GroupVersionResource
	week       *week
	read       func(*unstructured.Unstructured) level
	// pods returns the numbers of ready and wanted pods. ok is false if the object does not report them.
	pods func(*unstructured.Unstructured) (ready, want int64, ok bool)
}

func (t target) String() string { return t.kind + "/" + t.name }

var (
	deployments  = appsv1.SchemeGroupVersion.WithResource("deployments")
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
	daemonSets   = appsv1.SchemeGroupVersion.WithResource("daemonsets")
	cronJobs     = batchv1.SchemeGroupVersion.WithResource("cronjobs")
	autoscalers  = autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	clusters     = schema.GroupVersionResource{Group: "postgresql.cnpg.io", Version: "v1", Resource: "clusters"}
	farms        = schema.GroupVersionResource{Group: "render.example.com", Version: "v1", Resource: "renderfarms"}
	freezes      = v1alpha1.GroupVersion.WithResource("changefreezes")
	machines     = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"}
)

func targets() []target {
	return []target{
		{"Deployment", "web", deployments, &officeHours, replicas, replicaPods},
		{"DaemonSet", "log-agent", daemonSets, &officeHours, nodes, daemonPods},
		{"CronJob", "report", cronJobs, &officeHours, jobs, noPods},
		{"Deployment", "api", deployments, &officeHours, replicas, replicaPods},
		{"HPA", "api", autoscalers, &officeHours, bounds, noPods},
		{"StatefulSet", "queue", statefulSets, &dataFirst, replicas, replicaPods},
		{"Cluster", "orders", clusters, &dataFirst, database, noPods},
		{"VirtualMachine", "erp", machines, &dataFirst, machine, noPods},
		{"RenderFarm", "studio", farms, &rendering, pools, noPods},
		{"Deployment", "search", deployments, &everyDay, replicas, replicaPods},
		{"Deployment", "checkout", deployments, &shopOpen, replicas, replicaPods},
		{"Deployment", "retired", deployments, never, replicas, replicaPods},
	}
}

// integer returns a number, or 0 if it is absent.
func integer(obj *unstructured.Unstructured, fields ...string) int64 {
	n, _, _ := unstructured.NestedInt64(obj.Object, fields...)
	return n
}

func text(obj *unstructured.Unstructured, fields ...string) string {
	s, _, _ := unstructured.NestedString(obj.Object, fields...)
	return s
}

func replicas(obj *unstructured.Unstructured) level {
	n := integer(obj, "spec", "replicas")
	return level{fmt.Sprintf("replicas %d", n), n}
}

// nodes returns the level of a DaemonSet: asleep if it requires a label that no node has.
func nodes(obj *unstructured.Unstructured) level {
	if text(obj, "spec", "template", "spec", "nodeSelector", "flyball.dev/asleep") != "" {
		return level{"on no node", 0}
	}
	return level{"on every node", 1}
}

func jobs(obj *unstructured.Unstructured) level {
	if suspended, _, _ := unstructured.NestedBool(obj.Object, "spec", "suspend"); suspended {
		return level{"suspended", 0}
	}
	return level{"scheduled", 1}
}

func bounds(obj *unstructured.Unstructured) level {
	if text(obj, "spec", "behavior", "scaleUp", "selectPolicy") == "Disabled" {
		return level{"held", 0}
	}
	return level{fmt.Sprintf("scales %d-%d", integer(obj, "spec", "minReplicas"), integer(obj, "spec", "maxReplicas")), 1}
}

func database(obj *unstructured.Unstructured) level {
	if obj.GetAnnotations()["cnpg.io/hibernation"] == "on" {
		return level{"hibernated", 0}
	}
	n := integer(obj, "spec", "instances")
	return level{fmt.Sprintf("instances %d", n), n}
}

func machine(obj *unstructured.Unstructured) level {
	strategy := text(obj, "spec", "runStrategy")
	if strategy == "Halted" {
		return level{strategy, 0}
	}
	return level{strategy, 1}
}

// pools returns every count of a list.
func pools(obj *unstructured.Unstructured) level {
	list, _, _ := unstructured.NestedSlice(obj.Object, "spec", "pools")
	var counts []string
	total := int64(0)
	for _, element := range list {
		pool, _ := element.(map[string]any)
		n, _, _ := unstructured.NestedInt64(pool, "workers")
		counts = append(counts, strconv.FormatInt(n, 10))
		total += n
	}
	return level{"pools " + strings.Join(counts, "+"), total}
}

func noPods(*unstructured.Unstructured) (int64, int64, bool) { return 0, 0, false }

func replicaPods(obj *unstructured.Unstructured) (int64, int64, bool) {
	return integer(obj, "status", "readyReplicas"), integer(obj, "spec", "replicas"), true
}

func daemonPods(obj *unstructured.Unstructured) (int64, int64, bool) {
	// Before the controller has counted the nodes for the first time, the wanted number is unknown.
	known := integer(obj, "status", "observedGeneration") > 0
	return integer(obj, "status", "numberReady"), integer(obj, "status", "desiredNumberScheduled"), known
}
