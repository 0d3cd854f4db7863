// Package downscaler says what the annotations and flags of kube-downscaler mean in Flyball's policies.
package downscaler

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/cmd/kubectl-flyball/migrate"
	"flyball.dev/flyball/crds/v1alpha1"
)

const prefix = "downscaler/"

// Priorities of what comes from an object, from its namespace, and of what is forced.
const (
	priorityNamespace = 10
	priorityObject    = 20
	priorityForced    = 1000
)

// byResource are the kinds by the names of --include-resources.
var byResource = map[string]schema.GroupKind{
	"deployments": migrate.Deployment, "statefulsets": migrate.StatefulSet, "daemonsets": migrate.DaemonSet, "cronjobs": migrate.CronJob, "jobs": migrate.Job,
	"horizontalpodautoscalers": migrate.Autoscaler, "scaledobjects": migrate.ScaledObject, "rollouts": migrate.Rollout, "postgresqls": migrate.Postgres,
}

// Tool is kube-downscaler, and py-kube-downscaler.
func Tool() migrate.Tool {
	kinds := migrate.Namespaced(migrate.Deployment, migrate.StatefulSet, migrate.DaemonSet, migrate.CronJob, migrate.Job, migrate.Autoscaler, migrate.ScaledObject, migrate.Rollout, migrate.Postgres)
	return migrate.Tool{
		Name: "kube-downscaler", Title: "kube-downscaler",
		Reads:   append([]migrate.Kind{migrate.Clustered(migrate.Namespace)}, kinds...),
		Convert: convert, Sleepers: sleepers,
	}
}

// scope is one place of settings: an object, a namespace, the flags or the environment.
type scope map[string]string

// The settings that a scope supplies together.
var (
	timeSettings  = []string{"downtime", "uptime", "downscale-period", "upscale-period"}
	forceSettings = []string{"force-downtime", "force-uptime"}
)

func (s scope) sets(keys []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { _, ok := s[k]; return ok })
}

// annotated is the scope of an object or a namespace.
func annotated(o migrate.Object) scope {
	s := scope{}
	for key, v := range o.Get("metadata.annotations").Map() {
		if name, ok := strings.CutPrefix(key, prefix); ok && name != "original-replicas" {
			if name == "downtime-replicas" {
				name = "downscale-replicas" // py-kube-downscaler
			}
			s[name] = v.String()
		}
	}
	return s
}

// config is how the tool runs.
type config struct {
	// own is its Deployment, where found.
	own        migrate.Object
	found      bool
	flags, env scope
}

var imageName = regexp.MustCompile(`(?i)(kube-?downscaler)`)

// flagNames are the settings whose flags have other names.
var flagNames = map[string]string{"default-downtime": "downtime", "default-uptime": "uptime", "downtime-replicas": "downscale-replicas"}

// envNames are the settings by environment variable.
var envNames = map[string]string{
	"DEFAULT_DOWNTIME": "downtime", "DEFAULT_UPTIME": "uptime", "DOWNSCALE_PERIOD": "downscale-period", "UPSCALE_PERIOD": "upscale-period",
	"DEFAULT_TIMEZONE": "timezone", "DEFAULT_WEEKFRAME": "weekframe", "EXCLUDE_NAMESPACES": "exclude-namespaces", "EXCLUDE_DEPLOYMENTS": "exclude-deployments",
}

// readConfig finds the tool's own Deployment and reads its flags and its environment.
func readConfig(in *migrate.Input, out *migrate.Output) config {
	c := config{flags: scope{}, env: scope{}}
	for _, d := range in.Of(migrate.Deployment) {
		for _, container := range d.Get("spec.template.spec.containers").Array() {
			image := container.Get("image").Str
			if !imageName.MatchString(image[strings.LastIndexByte(image, '/')+1:]) {
				continue
			}
			c.own, c.found = d, true
			c.readFlags(append(container.Get("command").Array(), container.Get("args").Array()...))
			for _, e := range container.Get("env").Array() {
				if name, ok := envNames[e.Get("name").Str]; ok {
					c.env[name] = e.Get("value").String()
				}
			}
			for _, from := range container.Get("envFrom").Array() {
				out.Leave(d, "its environment comes from %s: give what is set there as flags or env of its container", from.Raw)
			}
		}
	}
	return c
}

func (c *config) readFlags(args []gjson.Result) {
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(strings.TrimLeft(args[i].Str, "-"), "=")
		if !strings.HasPrefix(args[i].Str, "-") {
			continue
		}
		if !hasValue && i+1 < len(args) && !strings.HasPrefix(args[i+1].Str, "-") {
			i++
			value = args[i].Str
		} else if !hasValue {
			value = "true"
		}
		if other, ok := flagNames[name]; ok {
			name = other
		}
		c.flags[name] = value
	}
}

// setting is the value of a setting of the tool itself.
func (c *config) setting(name string) string {
	if v, ok := c.flags[name]; ok {
		return v
	}
	return c.env[name]
}

// resources are the kinds that the tool looks at.
func (c *config) resources(out *migrate.Output) []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, name := range strings.Split(cmp.Or(c.setting("include-resources"), "deployments"), ",") {
		gk, ok := byResource[strings.ToLower(strings.TrimSpace(name))]
		if !ok {
			out.Leave(c.own, "--include-resources has %s, for which Flyball has no adapter that does the same: write one (kubectl flyball adapter new)", name)
			continue
		}
		kinds = append(kinds, gk)
	}
	return kinds
}

func convert(in *migrate.Input, out *migrate.Output) {
	c := readConfig(in, out)
	w := work{in: in, out: out, config: c, kinds: c.resources(out), excluded: sets.New[string](), included: sets.New[string]()}
	w.namespaces()
	w.objects()
	w.cluster()
	if len(out.Emitted)+len(out.Left) == 0 {
		return
	}
	out.Step("stop its controller; delete MutatingWebhookConfiguration webhook.kube-downscaler.k8s and the admission policies whose names end in -downscaler-reserved-annotations: they refuse or undo the take-over")
	out.Step("apply the objects above and wait until they are Ready")
	out.Step("kubectl flyball migrate kube-downscaler -A --take-over, and again with --apply; then take the annotations downscaler/ away, in Git too")
}

// work is one conversion while it lasts.
type work struct {
	in     *migrate.Input
	out    *migrate.Output
	config config
	kinds  []schema.GroupKind
	// excluded and included are the namespaces that say so.
	excluded, included sets.Set[string]
}

// scopes are those that count for an object of a namespace, the nearest first.
func (w *work) scopes(nearest ...scope) []scope {
	return append(nearest, w.config.flags, w.config.env)
}

func (w *work) namespaceScope(name string) scope {
	ns, _ := w.in.Find(migrate.Namespace, "", name)
	return annotated(ns)
}

func (w *work) namespaces() {
	for _, ns := range w.in.Of(migrate.Namespace) {
		s := annotated(ns)
		w.exclusion(ns, s)
		if s.sets(timeSettings) || s["downscale-replicas"] != "" {
			w.emit(ns, s, placement{namespace: ns.Name(), name: "downscaler", kinds: w.kinds, priority: priorityNamespace}, w.scopes(s))
		}
		w.forced(ns, s, placement{namespace: ns.Name(), name: "downscaler-forced", kinds: w.kinds})
	}
}

func (w *work) objects() {
	for _, k := range Tool().Reads[1:] {
		for _, o := range w.in.Of(k.GroupKind) {
			s := annotated(o)
			if len(s) == 0 {
				continue
			}
			w.exclusion(o, s)
			if s["exclude"] == "true" || w.excluded.Has(o.Namespace()) && s["exclude"] != "false" {
				continue
			}
			if !slices.Contains(w.kinds, k.GroupKind) {
				if w.config.found {
					w.out.Leave(o, "it has annotations of the tool, which does not look at its kind (--include-resources)")
					continue
				}
				w.out.Leave(o, "the Deployment of the tool was not found, so it is not known whether it looks at this kind (--include-resources)")
			}
			at := placement{namespace: o.Namespace(), name: "downscaler-" + o.Name(), kinds: []schema.GroupKind{k.GroupKind}, names: []string{o.Name()}, priority: priorityObject}
			if s.sets(timeSettings) || s["downscale-replicas"] != "" {
				w.emit(o, s, at, w.scopes(s, w.namespaceScope(o.Namespace())))
			}
			at.name = "downscaler-forced-" + o.Name()
			w.forced(o, s, at)
		}
	}
}

// exclusion says what becomes of exclude and exclude-until.
func (w *work) exclusion(o migrate.Object, s scope) {
	isNamespace := o.GroupKind() == migrate.Namespace
	where := fmt.Sprintf("%s %s", strings.ToLower(o.GroupKind().Kind), o.Name())
	if !isNamespace {
		where += " -n " + o.Namespace()
	}
	if until := s["exclude-until"]; until != "" {
		w.out.Leave(o, "exclude-until: unless that is over, kubectl annotate %s %s=%s; it wakes what sleeps, which there takes upscale-excluded", where, v1alpha1.AnnotationAwakeUntil, until)
	}
	switch text, ok := s["exclude"]; {
	case !ok:
	case text == "true" && isNamespace:
		w.excluded.Insert(o.Name())
	case text == "true":
		w.out.Leave(o, "exclude: kubectl label %s %s=true; it gives back what sleeps (py-kube-downscaler wakes it too, GoKubeDownscaler only with upscale-excluded)", where, v1alpha1.LabelExclude)
	case text == "false" && isNamespace:
		w.included.Insert(o.Name())
	case text == "false":
	default:
		w.out.Leave(o, "exclude is %q: an exclusion for spans of time has no counterpart", text)
	}
}

// cluster converts what the flags and the environment say for everything.
func (w *work) cluster() {
	c := &w.config
	if !c.found {
		return
	}
	target, notes := w.clusterTarget()
	explicit := c.setting("explicit-include") == "true"
	scopes := w.scopes()
	if c.flags.sets(timeSettings) || c.env.sets(timeSettings) {
		at := placement{name: "downscaler", kinds: w.kinds, cluster: &target, notes: notes}
		if explicit {
			at.annotations = map[string]string{prefix + "exclude": "false"}
		}
		w.emit(c.own, nil, at, scopes)
		if names := sets.List(w.included); explicit && len(names) > 0 {
			whole := target
			whole.NamespaceSelector, whole.Namespaces = nil, names
			at.name, at.cluster, at.annotations = "downscaler-included", &whole, nil
			w.emit(c.own, nil, at, scopes)
		}
	}
	w.forced(c.own, c.flags, placement{name: "downscaler-forced", kinds: w.kinds, cluster: &target, notes: notes})
}

var plainName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// clusterTarget is what the tool looks at in the whole cluster.
func (w *work) clusterTarget() (t v1alpha1.ClusterTargetSelector, notes []string) {
	c := &w.config
	if names := c.setting("namespace"); names != "" {
		for _, n := range strings.Split(names, ",") {
			t.Namespaces = append(t.Namespaces, strings.TrimSpace(n))
		}
	} else {
		t.NamespaceSelector = &metav1.LabelSelector{}
	}
	patterns := cmp.Or(c.setting("exclude-namespaces"), "kube-system,kube-downscaler")
	exclude := sets.List(w.excluded)
	for _, p := range strings.Split(patterns, ",") {
		p = strings.TrimSpace(p)
		re, err := regexp.Compile(p)
		if plainName.MatchString(p) {
			exclude = append(exclude, p)
		} else {
			notes = append(notes, "--exclude-namespaces "+p+" is expanded to the namespaces that there are now"+inFiles(w.in)+": a list of names does not grow")
		}
		for _, n := range w.in.Namespaces() {
			if err == nil && re.MatchString(n) {
				exclude = append(exclude, n)
			}
		}
	}
	slices.Sort(exclude)
	t.ExcludeNamespaces = slices.Compact(exclude)
	if labels := c.setting("matching-labels"); labels != "" {
		key, value, ok := strings.Cut(labels, "=")
		if ok && !strings.ContainsAny(labels, ",*+?()[]|^$\\ ") {
			t.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		} else {
			w.out.Leave(c.own, "--matching-labels %q is more than one label with one value: a selection has no patterns, so write the selector by hand", labels)
		}
	}
	for _, p := range strings.Split(c.setting("exclude-deployments"), ",") {
		if p = strings.TrimSpace(p); p != "" {
			w.excludeNames(p)
		}
	}
	return t, notes
}

func inFiles(in *migrate.Input) string {
	if in.Files {
		return " in the files"
	}
	return ""
}

// excludeNames lists the objects that a pattern of --exclude-deployments leaves out.
func (w *work) excludeNames(pattern string) {
	re, err := regexp.Compile(pattern)
	found := false
	for _, gk := range w.kinds {
		for _, o := range w.in.Of(gk) {
			if err == nil && re.MatchString(o.Name()) && o.Ref() != w.config.own.Ref() {
				found = true
				w.out.Leave(o, "--exclude-deployments %s: kubectl label %s %s -n %s %s=true: a selection cannot leave names out", pattern, strings.ToLower(gk.Kind), o.Name(), o.Namespace(), v1alpha1.LabelExclude)
			}
		}
	}
	if !found {
		w.out.Leave(w.config.own, "--exclude-deployments %s matches nothing that is known%s: label what it means with %s=true", pattern, inFiles(w.in), v1alpha1.LabelExclude)
	}
}
