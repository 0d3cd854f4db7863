package migrate

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
)

const downscalerPrefix = "downscaler/"

// These are the priorities of policies: for a namespace, for an object, for forced times, and for exclusions at some times.
const (
	priorityNamespace = 10
	priorityObject    = 20
	priorityForced    = 1000
	priorityExcluded  = 2000
)

// byResource maps the names of --include-resources to kinds.
var byResource = map[string]schema.GroupKind{
	"deployments": Deployment, "statefulsets": StatefulSet, "daemonsets": DaemonSet, "cronjobs": CronJob,
	"jobs":                     Job,
	"horizontalpodautoscalers": Autoscaler, "scaledobjects": ScaledObject, "rollouts": Rollout,
	"postgresqls": Postgres,
}

// downscaler returns the tool kube-downscaler. It covers py-kube-downscaler too.
func downscaler() Tool {
	kinds := Namespaced(Deployment, StatefulSet, DaemonSet, CronJob, Job, Autoscaler,
		ScaledObject, Rollout, Postgres)
	return Tool{
		Name: "kube-downscaler", Title: "kube-downscaler",
		Reads:   append([]ToolKind{Clustered(Namespace)}, kinds...),
		Marked:  Namespaced(Budget, Prometheus, Stack),
		Convert: convertDownscaler, Sleepers: downscalerSleepers,
	}
}

// downscalerScope has the settings from one source: an object, a namespace, the flags or the environment.
type downscalerScope map[string]string

// These are groups of settings. If a scope has one setting of a group, all settings of the group come from this scope.
var (
	timeSettings  = []string{"downtime", "uptime", "downscale-period", "upscale-period"}
	forceSettings = []string{"force-downtime", "force-uptime"}
)

func (s downscalerScope) sets(keys []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { _, ok := s[k]; return ok })
}

// annotated returns the settings in the annotations of an object or a namespace.
func annotated(o Object) downscalerScope {
	s := downscalerScope{}
	for key, v := range o.Get("metadata.annotations").Map() {
		if name, ok := strings.CutPrefix(key, downscalerPrefix); ok && name != "original-replicas" {
			if name == "downtime-replicas" {
				name = "downscale-replicas" // the name in py-kube-downscaler
			}
			s[name] = v.String()
		}
	}
	return s
}

// config is the configuration of the tool itself.
type config struct {
	// own is the tool's Deployment, if it was found. all are the Deployments of all parts of the tool.
	own        Object
	found      bool
	all        []Object
	flags, env downscalerScope
}

var imageName = regexp.MustCompile(`(?i)(kube-?downscaler)`)

// flagNames maps flags to settings, where the flag has a different name than the setting.
var flagNames = map[string]string{"default-downtime": "downtime", "default-uptime": "uptime", "downtime-replicas": "downscale-replicas"}

// envNames maps environment variables to settings.
var envNames = map[string]string{
	"DEFAULT_DOWNTIME": "downtime", "DEFAULT_UPTIME": "uptime", "DOWNSCALE_PERIOD": "downscale-period", "UPSCALE_PERIOD": "upscale-period",
	"DEFAULT_TIMEZONE": "timezone", "DEFAULT_WEEKFRAME": "weekframe", "EXCLUDE_NAMESPACES": "exclude-namespaces",
	"EXCLUDE_DEPLOYMENTS": "exclude-deployments",
}

// readConfig finds the tool's own Deployment and reads its flags and its environment.
func readConfig(in *Input, out *Output) config {
	c := config{flags: downscalerScope{}, env: downscalerScope{}}
	for _, d := range in.Of(Deployment) {
		for _, container := range d.Get("spec.template.spec.containers").Array() {
			image := container.Get("image").Str
			if !imageName.MatchString(image[strings.LastIndexByte(image, '/')+1:]) {
				continue
			}
			c.own, c.found, c.all = d, true, append(c.all, d)
			c.readFlags(append(container.Get("command").Array(), container.Get("args").Array()...))
			for _, e := range container.Get("env").Array() {
				if name, ok := envNames[e.Get("name").Str]; ok {
					c.env[name] = e.Get("value").String()
				}
			}
			for _, from := range container.Get("envFrom").Array() {
				out.Leave(d, "its environment comes from %s: give its variables as flags or env of the container", from.Raw)
			}
		}
	}
	return c
}

func (c *config) readFlags(args []rawjson.Value) {
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

// setting returns the value of a setting from the flags or the environment of the tool.
func (c *config) setting(name string) string {
	if v, ok := c.flags[name]; ok {
		return v
	}
	return c.env[name]
}

// resources returns the kinds that the tool handles.
func (c *config) resources(out *Output) []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, name := range strings.Split(cmp.Or(c.setting("include-resources"), "deployments"), ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		gk, ok := byResource[name]
		if name == "poddisruptionbudgets" {
			continue // no policy replaces this, and the take-over restores the objects
		}
		if !ok {
			out.Leave(c.own,
				"--include-resources has %s, for which Flyball has no adapter that does the same: write one (kubectl flyball adapter new)", name)
			continue
		}
		kinds = append(kinds, gk)
	}
	return kinds
}

func convertDownscaler(in *Input, out *Output) {
	w := newWork(in, out)
	w.namespaces()
	w.objects()
	w.cluster()
	w.unexplained()
	if len(out.Emitted)+len(out.Left) > 0 {
		w.steps()
	}
}

// work is the state of one conversion.
type work struct {
	in     *Input
	out    *Output
	config config
	kinds  []schema.GroupKind
	filters
	// explicit is true if the tool handles only objects with exclude: "false".
	explicit bool
	// excluded are the namespaces that exclude themselves. included are the namespaces with exclude: "false". refused are
	// the namespaces with a setting that has no counterpart in Flyball.
	excluded, included, refused sets.Set[string]
	// alone has the objects that get the label flyball.dev/exclude for good, before the first policy exists. resting has
	// the sleeping DaemonSets, which have the label only until they are taken over.
	alone, resting Groups[command, string]
}

func newWork(in *Input, out *Output) *work {
	w := &work{in: in, out: out, config: readConfig(in, out), excluded: sets.New[string](), included: sets.New[string](),
		refused: sets.New[string]()}
	w.explicit = w.config.setting("explicit-include") == "true"
	w.kinds = w.handled()
	w.readFilters()
	return w
}

// handled returns the kinds that the tool handles. If the tool's Deployment is not found, it adds the kinds of the
// objects that the tool keeps asleep.
func (w *work) handled() []schema.GroupKind {
	kinds := w.config.resources(w.out)
	if w.config.found {
		return kinds
	}
	for _, k := range downscaler().Reads[1:] {
		if !slices.Contains(kinds, k.GroupKind) && slices.ContainsFunc(w.in.Of(k.GroupKind), isAsleep) {
			kinds = append(kinds, k.GroupKind)
		}
	}
	return kinds
}

// scopes returns the scopes that apply to an object. The given nearest scopes come first, then the flags and the
// environment.
func (w *work) scopes(nearest ...downscalerScope) []downscalerScope {
	return append(nearest, w.config.flags, w.config.env)
}

func (w *work) namespaceScope(name string) downscalerScope {
	ns, _ := w.in.Find(Namespace, "", name)
	return annotated(ns)
}

func (w *work) namespaces() {
	for _, ns := range w.in.Of(Namespace) {
		s := annotated(ns)
		if w.excludeNamespace(ns, s) {
			continue
		}
		at := placement{namespace: ns.Name(), name: "downscaler-excluded", kinds: w.kinds, selector: w.selector}
		at.excludeNames = w.withOwnExclude(ns.Name())
		w.excludeInSpans(ns, s, at)
		at.name, at.excludeNames = "downscaler-forced", nil
		if w.explicit && !w.included.Has(ns.Name()) {
			at.annotations = map[string]string{downscalerPrefix + "exclude": "false"}
		}
		if !w.forced(ns, s, at) {
			w.refused.Insert(ns.Name())
			continue
		}
		at.name, at.priority = "downscaler", priorityNamespace
		if hasTimes(s) && !w.emit(ns, s, at, w.scopes(s)) {
			w.refused.Insert(ns.Name())
		}
	}
}

// hasTimes reports whether a scope has settings that need a policy of its own.
func hasTimes(s downscalerScope) bool { return s.sets(timeSettings) || s["downscale-replicas"] != "" }

func (w *work) objects() {
	for _, k := range downscaler().Reads[1:] {
		for _, o := range w.in.Of(k.GroupKind) {
			w.object(k.GroupKind, o)
		}
	}
}

func (w *work) object(gk schema.GroupKind, o Object) {
	s := annotated(o)
	looksAt := slices.Contains(w.kinds, gk)
	own := slices.ContainsFunc(w.config.all, func(d Object) bool { return d.Ref() == o.Ref() })
	if own || isControlled(o) || w.leaveAlone(o, s, looksAt) || len(s) == 0 {
		return
	}
	switch {
	case looksAt:
	case w.config.found:
		w.out.Leave(o, "it has annotations of the tool, which does not look at its kind (--include-resources)")
		return
	default:
		w.out.Leave(o, "the Deployment of the tool was not found, so it is not known whether it looks at this kind (--include-resources)")
	}
	at := placement{namespace: o.Namespace(), name: "downscaler-excluded-" + o.Name(), kinds: []schema.GroupKind{gk},
		names: []string{o.Name()}}
	w.excludeInSpans(o, s, at)
	at.name = "downscaler-forced-" + o.Name()
	if !w.forced(o, s, at) {
		w.label(o)
		return
	}
	at.name, at.priority = "downscaler-"+o.Name(), priorityObject
	scopes := w.scopes(s, w.namespaceScope(o.Namespace()))
	timed := slices.ContainsFunc(scopes, func(s downscalerScope) bool { return s.sets(timeSettings) })
	if (hasTimes(s) || timed && w.readmits(o, s)) && !w.emit(o, s, at, scopes) {
		w.label(o)
	}
}

// readmits reports whether the tool handles an object because of the object's own setting exclude. The policies of its
// namespace do not select such an object.
func (w *work) readmits(o Object, s downscalerScope) bool {
	text, set := s["exclude"]
	selected := !w.explicit || w.included.Has(o.Namespace()) || text == "false" // the policies select this annotation
	return set && (w.excluded.Has(o.Namespace()) || !selected)
}

// cluster converts the flags and the environment, which apply to the whole cluster.
func (w *work) cluster() {
	c := &w.config
	if !c.found {
		return
	}
	target, notes := w.clusterTarget()
	scopes := w.scopes()
	if c.flags.sets(timeSettings) || c.env.sets(timeSettings) {
		at := placement{name: "downscaler", kinds: w.kinds, selector: w.selector, cluster: &target, notes: notes}
		if w.explicit {
			at.annotations = map[string]string{downscalerPrefix + "exclude": "false"}
		}
		w.emit(c.own, nil, at, scopes)
		if names := sets.List(w.included); w.explicit && len(names) > 0 {
			whole := target
			whole.NamespaceSelector, whole.Namespaces = nil, names
			at.name, at.cluster, at.annotations = "downscaler-included", &whole, nil
			w.emit(c.own, nil, at, scopes)
		}
	}
	w.forced(c.own, c.flags, placement{name: "downscaler-forced", kinds: w.kinds, selector: w.selector, cluster: &target, notes: notes})
}

// clusterTarget returns a selection of all objects in the cluster that the tool handles.
func (w *work) clusterTarget() (t v1alpha1.ClusterTargetSelector, notes []string) {
	if len(w.onlyNamespaces) > 0 {
		t.Namespaces = w.onlyNamespaces
	} else {
		t.NamespaceSelector = &metav1.LabelSelector{}
	}
	exclude := sets.List(w.excluded.Union(w.refused))
	for _, re := range w.notNamespaces {
		p := re.String()
		glob, ok := globOf(p)
		switch {
		case plainName.MatchString(p):
			exclude = append(exclude, p)
		case ok:
			exclude = append(exclude, glob)
			continue
		default:
			notes = append(notes, "--exclude-namespaces "+p+" is expanded to the namespaces that there are now"+inFiles(w.in)+
				": a list of names does not grow")
		}
		for _, n := range w.in.Namespaces() {
			if re.MatchString(n) {
				exclude = append(exclude, n)
			}
		}
	}
	slices.Sort(exclude)
	t.ExcludeNamespaces = slices.Compact(exclude)
	for _, re := range w.notNames {
		if _, ok := globOf(re.String()); ok {
			continue // excludeNames already covers this pattern
		}
		notes = append(notes, "--exclude-deployments "+re.String()+" is expanded to labels of the objects that there are now"+inFiles(w.in)+
			": label new ones too")
	}
	if len(w.onlyLabels) > 0 {
		notes = append(notes, "--matching-labels has a pattern: the objects that do not match now get a label; label new ones too")
	}
	return t, notes
}

func inFiles(in *Input) string {
	if in.Files {
		return " in the files"
	}
	return ""
}
