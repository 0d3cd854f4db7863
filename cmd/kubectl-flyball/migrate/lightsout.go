package migrate

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/timeline"
)

const lightsOutPrefix = "lightsout.techsupport.mk/"

var lightsOutSchedule = schema.GroupKind{Group: "lightsout.techsupport.mk", Kind: "LightsOutSchedule"}

// systemNamespaces are the namespaces that several tools never touch.
var systemNamespaces = []string{"kube-system", "kube-public", "kube-node-lease"}

func lightsOut() Tool {
	return Tool{
		Name: "lightsout", Title: "LightsOut",
		Reads:   []ToolKind{Clustered(lightsOutSchedule)},
		Marked:  Namespaced(Deployment, StatefulSet, CronJob),
		Convert: convertLightsOut, Sleepers: lightsOutSleepers,
	}
}

func convertLightsOut(in *Input, out *Output) {
	all := in.Of(lightsOutSchedule)
	for _, s := range all {
		spec := s.Get("spec")
		target, notes, why := lightsOutTarget(spec)
		if why != "" {
			out.Leave(s, "%s", why)
			continue
		}
		c := &v1alpha1.ClusterSchedule{ObjectMeta: Meta("", s.Name()), Spec: v1alpha1.ClusterScheduleSpec{Target: target}}
		c.Spec.Upscale, c.Spec.Downscale = spec.Get("upscale").Str, spec.Get("downscale").Str
		c.Spec.TimeZone, c.Spec.Suspend = Zone(spec.Get("timezone").Str), spec.Get("suspend").Bool()
		e := out.Emit(c, s)
		e.Notes = notes
		var note string
		if c.Spec.UpscaleRateLimit, note = lightsOutRate(spec.Get("upscaleRateLimit")); note != "" {
			e.Note("upscaleRateLimit is dropped: %s", note)
		}
		if c.Spec.DownscaleRateLimit, note = lightsOutRate(spec.Get("downscaleRateLimit")); note != "" {
			e.Note("downscaleRateLimit is dropped: %s", note)
		}
		if spec.Get("suspend").Bool() {
			e.Note("it is suspended: deleting it there wakes the objects with its marks all the same")
		}
		noteRivals(e, s, all)
		NoteSpringTransitions(e)
	}
	if len(all) == 0 {
		return
	}
	out.Step("stop its controller and delete its webhook configurations")
	out.CheckStep("lightsout")
	out.ApplyStep()
	out.TakeOverStep("lightsout", "to delete a LightsOutSchedule wakes the objects with its marks, so this comes first")
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = o.Name()
	}
	out.Step("take the finalizers away, which wait for the controller that you have stopped, and delete its objects",
		Command("patch", lightsOutSchedule, "", names, `--type=merge -p '{"metadata":{"finalizers":null}}'`),
		Command("delete", lightsOutSchedule, "", names, ""))
}

// lightsOutTarget returns the selection of a schedule. If the schedule selects nothing, the result why is the reason.
func lightsOutTarget(spec rawjson.Value) (t v1alpha1.ClusterTargetSelector, notes []string, why string) {
	types := Texts(spec.Get("workloadTypes"))
	for _, k := range []schema.GroupKind{Deployment, StatefulSet, CronJob} {
		if len(types) == 0 || slices.Contains(types, k.Kind) {
			t.Kinds = append(t.Kinds, Refs(k)...)
		}
	}
	if len(t.Kinds) == 0 {
		return t, nil, "workloadTypes has no kind that it knows: " + strings.Join(types, ", ")
	}
	for _, ns := range Texts(spec.Get("namespaces")) {
		if slices.Contains(systemNamespaces, ns) {
			notes = append(notes, "namespace "+ns+" is left out: it is never reached there, and would be here")
			continue
		}
		t.Namespaces = append(t.Namespaces, ns)
	}
	t.NamespaceSelector = Decoded[metav1.LabelSelector](spec.Get("namespaceSelector"))
	t.ExcludeNamespaces = Texts(spec.Get("excludeNamespaces"))
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		return t, nil, "it selects no namespace"
	}
	if exclude := spec.Get("excludeLabels"); exclude.IsObject() {
		if t.Exclude = Decoded[metav1.LabelSelector](exclude); t.Exclude == nil || len(t.Exclude.MatchLabels)+
			len(t.Exclude.MatchExpressions) == 0 {
			return t, nil, "excludeLabels: {} excludes everything there, so it does nothing; here it would exclude nothing"
		}
		notes = append(notes, "exclude takes the place of the label "+v1alpha1.LabelExclude+"=true")
	}
	return t, notes, ""
}

// lightsOutRate returns the rate limit of a schedule, or the reason why it has no counterpart.
func lightsOutRate(limit rawjson.Value) (*v1alpha1.RateLimit, string) {
	if !limit.IsObject() {
		return nil, ""
	}
	size, delay := limit.Get("batchSize"), limit.Get("delayBetweenBatches").Str
	if !size.Exists() || delay == "" {
		return nil, "it needs batchSize and delayBetweenBatches"
	}
	d, err := timeline.ParseDuration(delay)
	if err != nil || d <= 0 {
		return nil, fmt.Sprintf("delayBetweenBatches is %q", delay)
	}
	return &v1alpha1.RateLimit{BatchSize: int32(size.Int()), DelayBetweenBatches: v1alpha1.Duration(delay)}, ""
}

// noteRivals adds a note about other schedules that may select the same objects.
func noteRivals(e *Emitted, s Object, all []Object) {
	for _, other := range all {
		if other.Name() == s.Name() {
			continue
		}
		mine, theirs := Texts(s.Get("spec.namespaces")), Texts(other.Get("spec.namespaces"))
		shared := slices.ContainsFunc(mine, func(ns string) bool { return slices.Contains(theirs, ns) })
		if shared || s.Get("spec.namespaceSelector").Exists() || other.Get("spec.namespaceSelector").Exists() {
			e.Note("it may select objects of LightsOutSchedule %s too: there the first one keeps an object, here awake wins", other.Name())
		}
	}
}

// lightsOutSleepers adds the objects that the tool keeps asleep, by their annotations.
func lightsOutSleepers(in *Input, out *Output) {
	marks := []string{
		AnnotationPointer(lightsOutPrefix + "original-replicas"), AnnotationPointer(lightsOutPrefix + "original-suspend"),
		AnnotationPointer(lightsOutPrefix + "managed-by"), LabelPointer(lightsOutPrefix + "managed-by"),
	}
	for _, gk := range []schema.GroupKind{Deployment, StatefulSet, CronJob} {
		for _, o := range in.Of(gk) {
			s := Sleeper{Object: o, Marks: marks}
			if text, ok := o.Annotation(lightsOutPrefix + "original-replicas"); ok {
				if n, ok := Count(text); ok {
					s.Originals = []Original{{Pointer: "/spec/replicas", Was: Number(n), Set: "0"}}
				} else {
					s.Marks, s.ByHand = nil, append(s.ByHand,
						fmt.Sprintf("the original is %q and no count: set the replicas by hand and take the annotations away", text))
				}
			}
			switch text, _ := o.Annotation(lightsOutPrefix + "original-suspend"); text {
			case "lightsout":
				s.Originals = append(s.Originals, Original{Pointer: "/spec/suspend", Was: "false", Set: "true"})
			case "", "user": // the object's owner had suspended it before
			default:
				s.Marks, s.ByHand = nil, append(s.ByHand,
					fmt.Sprintf("the original is %q, which is not known: look whether it is to be suspended, and take the annotations away", text))
			}
			out.Sleepers = append(out.Sleepers, s)
		}
	}
}
