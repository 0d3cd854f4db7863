package migrate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
)

var foreignTortoise = schema.GroupKind{Group: "autoscaling.mercari.com", Kind: "Tortoise"}

func tortoise() Tool {
	return Tool{Name: "tortoise", Title: "Tortoise", Reads: Namespaced(foreignTortoise), Convert: convertTortoises}
}

func convertTortoises(in *Input, out *Output) {
	all := in.Of(foreignTortoise)
	for _, t := range all {
		if spec := t.Get("spec"); !spec.IsObject() {
			out.Leave(t, "its spec cannot be read")
			continue
		}
		convertTuning(t, out)
		convertSlots(t, out)
	}
	if len(all) > 0 {
		out.Step("set updateMode: Off and deletionPolicy: NoDelete on each Tortoise: in Auto its webhook resets the bounds, and DeleteAll " +
			"deletes the HorizontalPodAutoscaler")
		out.Step("restore each HorizontalPodAutoscaler from Git (metrics, behavior and bounds are in Git only), and restart the pods: they " +
			"were changed, their templates were not")
		out.Step("delete the Tortoises while their controller runs, since they have a finalizer; then the VerticalPodAutoscalers " +
			"tortoise-monitor-*")
		out.Step("apply the objects below")
	}
}

// convertTuning converts a Tortoise of the original tool to Flyball's Tortoise.
func convertTuning(t Object, out *Output) {
	spec := t.Get("spec")
	ref := spec.Get("targetRefs.scaleTargetRef")
	gv, err := schema.ParseGroupVersion(ref.Get("apiVersion").Str)
	if ref.Get("name").Str == "" || err != nil {
		out.Leave(t, "it names no scaleTargetRef, so its target is not known")
		return
	}
	of := schema.GroupKind{Group: gv.Group, Kind: ref.Get("kind").Str}
	if of.Kind == "" || of.Kind == Deployment.Kind {
		of = Deployment // the tool supports no other kind, and its API does not require a version
	}
	s := v1alpha1.TortoiseSpec{}
	s.Target = v1alpha1.TargetSelector{Kinds: Refs(of), Names: []string{ref.Get("name").Str}}
	e := out.Emit(&v1alpha1.Tortoise{ObjectMeta: Meta(t.Namespace(), t.Name())}, t)
	s.Mode = tortoiseMode(t, out, e)
	s.Resources = tunedResources(t, out, e)
	if most := spec.Get("maxReplicas"); most.Exists() {
		s.Replicas.Max = new(int32(min(most.Int(), math.MaxInt32))) // a value that is not allowed is found when the object is checked
		e.Note("maxReplicas bounds the recommended maximum there; here it is the maximum of the autoscaler itself")
	} else {
		e.Note("the maximum of the autoscaler follows the load there; here it stays its owner's, or give replicas.max")
	}
	e.Note("it learns anew, which takes half an hour for the first numbers and a day for all of them; there it takes a week. Its numbers " +
		"come of other formulas: profile: Tortoise has those of the tool")
	e.Note("changes of requests are roll-outs by the pod template here, one an hour at most and down by 20%% at most; there pods are " +
		"changed as they are created. Environment variables (GOMAXPROCS, GOMEMLIMIT) are left alone here")
	if spec.Get("targetRefs.horizontalPodAutoscalerName").Str == "" {
		e.Note("it makes no autoscaler: the HorizontalPodAutoscaler %s is to be kept, and to be put into Git", madeAutoscaler(t))
	}
	if spec.Get("deletionPolicy").Str == "DeleteAll" {
		e.Note("deletionPolicy DeleteAll deletes the HorizontalPodAutoscaler there; here deletion gives back the owner's values, and " +
			"deletes nothing")
	}
	if b := spec.Get("horizontalPodAutoscalerBehavior"); b.Exists() {
		out.Leave(t, "horizontalPodAutoscalerBehavior %s: put it into the HorizontalPodAutoscaler as behavior, which stays its owner's",
			oneLine(b))
	}
	e.Object.(*v1alpha1.Tortoise).Spec = s
}

// madeAutoscaler returns the name of the HorizontalPodAutoscaler that a Tortoise uses or has created.
func madeAutoscaler(t Object) string {
	return cmp.Or(t.Get("spec.targetRefs.horizontalPodAutoscalerName").Str, t.Get("status.targets.horizontalPodAutoscaler").Str,
		"tortoise-hpa-"+t.Name())
}

func oneLine(v rawjson.Value) string { return strings.Join(strings.Fields(v.Raw), " ") }

func tortoiseMode(t Object, out *Output, e *Emitted) v1alpha1.TortoiseMode {
	switch mode := t.Get("spec.updateMode").Str; mode {
	case "", "Off":
		return v1alpha1.TortoiseOff
	case "Auto":
		return v1alpha1.TortoiseAuto
	case "Emergency":
		e.Note("Emergency holds the minimum at the recommended maximum there; here it lowers nothing. Where the minimum has to go up at " +
			"once, apply a Trigger with a window of two instants")
		return v1alpha1.TortoiseEmergency
	default:
		out.Leave(t, "updateMode %q is not known: the object given only recommends", mode)
		return v1alpha1.TortoiseOff
	}
}

// tunedResources combines the autoscaling policies of containers with the bounds of their requests.
func tunedResources(t Object, out *Output, e *Emitted) []v1alpha1.TunedResources {
	u := tuned{object: t, out: out, emitted: e}
	policies := t.Get("spec.autoscalingPolicy").Array()
	for _, p := range policies {
		u.policy(p)
	}
	for _, p := range t.Get("spec.resourcePolicy").Array() {
		c := u.of(p.Get("containerName").Str)
		c.Min, c.Max = u.quantities(p.Get("minAllocatedResources")), u.quantities(p.Get("maxAllocatedResources"))
	}
	if len(policies) > 0 {
		u.others()
	} else {
		e.Note("without autoscalingPolicy CPU is Horizontal there in every container, or follows the metrics of an attached autoscaler; here " +
			"in the one that the autoscaler looks at, and Vertical in all others")
	}
	e.Note("requests go no lower than 50m of CPU and 50Mi there; here 10m of CPU in containers that are not Horizontal, or give " +
		"resources[].min")
	return u.containers
}

// tuned collects the tuned resources of containers.
type tuned struct {
	object     Object
	out        *Output
	emitted    *Emitted
	containers []v1alpha1.TunedResources
	horizontal string
}

func (u *tuned) of(container string) *v1alpha1.TunedResources {
	i := slices.IndexFunc(u.containers, func(c v1alpha1.TunedResources) bool { return c.Container == container })
	if i < 0 {
		u.containers, i = append(u.containers, v1alpha1.TunedResources{Container: container}), len(u.containers)
	}
	return &u.containers[i]
}

// policy adds the autoscaling policy of a container. A resource that the policy does not mention is Off.
func (u *tuned) policy(p rawjson.Value) {
	name := p.Get("containerName").Str
	c := u.of(name)
	c.CPU, c.Memory = v1alpha1.ScaleOff, "Off"
	switch cpu := p.Get("policy.cpu").Str; {
	case cpu == "Horizontal" && u.horizontal != "":
		c.CPU = v1alpha1.ScaleVertical
		u.out.Leave(u.object, "CPU of container %s is Horizontal too: one container of a target can be, and that is %s; here it is Vertical",
			name, u.horizontal)
	case cpu == "Horizontal":
		c.CPU, u.horizontal = v1alpha1.ScaleHorizontal, name
	case cpu == "Vertical":
		c.CPU = v1alpha1.ScaleVertical
	}
	switch p.Get("policy.memory").Str {
	case "Horizontal":
		c.Memory = "Vertical"
		u.out.Leave(u.object, "memory of container %s is Horizontal: replicas follow CPU alone, and memory is Vertical", name)
	case "Vertical":
		c.Memory = "Vertical"
	}
}

// others adds the containers that have no autoscaling policy. Their resources stay unchanged.
func (u *tuned) others() {
	for i := range u.containers {
		if c := &u.containers[i]; c.CPU == "" {
			c.CPU, c.Memory = v1alpha1.ScaleOff, "Off"
		}
	}
	if all := u.of("*"); all.CPU == "" {
		all.CPU, all.Memory = v1alpha1.ScaleOff, "Off"
		u.emitted.Note("containers that autoscalingPolicy does not name are Off there, and so they are here")
	}
}

func (u *tuned) quantities(v rawjson.Value) *v1alpha1.Quantities {
	if !v.Exists() {
		return nil
	}
	q := Decoded[v1alpha1.Quantities](v)
	if q == nil {
		u.out.Leave(u.object, "the amounts %s cannot be read", oneLine(v))
		return nil
	}
	for _, name := range SortedKeys(v) {
		if name != "cpu" && name != "memory" {
			u.out.Leave(u.object, "only CPU and memory are tuned, and not %s", name)
		}
	}
	if q.CPU == nil && q.Memory == nil {
		return nil
	}
	return q
}

// convertSlots adds Triggers with the bounds that a Tortoise recommends now. They are used while the new Tortoise
// learns.
func convertSlots(t Object, out *Output) {
	byZone, zones := slotsOf(t.Get("status.recommendations.horizontal"))
	for _, z := range zones {
		id := t.Name()
		if len(zones) > 1 {
			id += "-" + Slug(z)
		}
		triggers, hours := joined(byZone[z])
		s := v1alpha1.TriggerSpec{TriggerRules: v1alpha1.TriggerRules{TimeZone: z, Triggers: triggers}}
		s.Target = v1alpha1.TargetSelector{Kinds: Refs(Autoscaler), Names: []string{madeAutoscaler(t)}}
		e := out.Emit(&v1alpha1.Trigger{ObjectMeta: Meta(t.Namespace(), id), Spec: s}, t)
		e.Note("it has the bounds that the Tortoise recommends now, and learns nothing from now on: it overrules the Tortoise given here, " +
			"so delete it once that is Working (kubectl get recommendations)")
		if mode := t.Get("spec.updateMode").Str; mode == "Off" || mode == "" {
			e.Note("the Tortoise is Off: it only recommends these bounds, the Trigger sets them")
		}
		if hours > 1 {
			e.Note("there are too many different hours for one Trigger: %d hours together have the largest bounds of any of them", hours)
		}
	}
}
