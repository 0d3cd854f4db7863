package migrate

import (
	"cmp"
	"fmt"
	"slices"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
)

// matchNone are the keys of node selectors that match no node. The first key is of GoKubeDownscaler, and the second key
// is of py-kube-downscaler.
var matchNone = []string{"downscaler/match-none", "kube-downscaler-non-existent"}

// downscalerSleepers adds the objects whose annotations say that the tool keeps them asleep.
func downscalerSleepers(in *Input, out *Output) {
	w := newWork(in, &Output{})
	w.namespaces()
	known := map[string]bool{Budget.String(): true}
	for _, gk := range byResource {
		known[gk.String()] = true
	}
	for _, o := range in.Objects {
		text, ok := o.Annotation(downscalerPrefix + "original-replicas")
		switch {
		case !ok, !known[o.GroupKind().String()] && isControlled(o): // its controller has copied the annotation, as a Deployment does
		case known[o.GroupKind().String()], o.Get("spec.replicas").Exists():
			out.Sleepers = append(out.Sleepers, w.sleeper(o, text))
		default:
			out.Leave(o, "its original is %s: no adapter of the library changes its kind as the tool did, so wake it by hand", text)
		}
	}
}

func (w *work) sleeper(o Object, text string) Sleeper {
	s := Sleeper{Object: o, Marks: []string{AnnotationPointer(downscalerPrefix + "original-replicas")},
		GiveBack: o.GroupKind() == Budget}
	scopes := w.scopes(annotated(o), w.namespaceScope(o.Namespace()))
	replicas, _ := replicasOf(scopes)
	var ok bool
	switch o.GroupKind() {
	case Budget:
		s.Originals, ok = budget(o, text, scopes), true
	case DaemonSet:
		if !w.leaveAlone(o, annotated(o), true) {
			s.Marks = append(s.Marks, LabelPointer(v1alpha1.LabelExclude)) // the label is needed only until the take-over
		}
		fallthrough
	default:
		s.Originals, ok = originals(o, text, replicas)
	}
	if !ok {
		s.Marks, s.ByHand = nil, []string{fmt.Sprintf("the original is %q, which cannot be read: set it by hand and take the annotation away",
			text)}
	}
	return s
}

// budget returns the original of a PodDisruptionBudget. The tool changes maxUnavailable or, in a budget without
// maxUnavailable, minAvailable.
func budget(o Object, text string, scopes []downscalerScope) []Original {
	set := "0"
	for _, s := range slices.Backward(scopes) {
		set = cmp.Or(s["downscale-replicas"], set)
	}
	pointer := "/spec/minAvailable"
	if o.Get("spec.maxUnavailable").Exists() {
		pointer = "/spec/maxUnavailable"
	}
	return []Original{{Pointer: pointer, Was: share(text), Set: share(set)}}
}

// share returns the JSON text of a number or a percentage.
func share(text string) string {
	if n, ok := Count(text); ok {
		return Number(n)
	}
	return Quoted(text)
}

// originals returns the original values of an object, which depend on its kind. It returns false if the tool's text
// cannot be parsed.
func originals(o Object, text string, replicas int64) ([]Original, bool) {
	n, isCount := Count(text)
	ran := text == "false" || isCount && n == 1 // for kinds with a switch instead of a count
	rested := text == "true" || isCount && n == 0
	switch o.GroupKind() {
	case CronJob, Job:
		if ran {
			return []Original{{Pointer: "/spec/suspend", Was: "false", Set: "true"}}, true
		}
		return nil, rested
	case DaemonSet:
		if !ran {
			return nil, rested
		}
		for _, key := range matchNone {
			if selector := o.Get("spec.template.spec.nodeSelector").Map(); selector[key].Exists() {
				return []Original{{Pointer: string(path.Pointer("/spec/template/spec/nodeSelector").Append(key)),
					Set: Quoted(selector[key].Str), Replaced: true, Made: true}}, true
			}
		}
		return nil, true
	case ScaledObject:
		original := Original{Pointer: AnnotationPointer("autoscaling.keda.sh/paused-replicas"), Was: Quoted(text),
			Set: Quoted(Number(replicas))}
		if text == "-1" {
			original.Was = ""
			return []Original{original}, true
		}
		return []Original{original}, isCount
	}
	if !isCount {
		return nil, false
	}
	pointer := "/spec/replicas"
	switch o.GroupKind() {
	case Autoscaler:
		pointer = "/spec/minReplicas"
	case Postgres:
		pointer = "/spec/numberOfInstances"
	}
	return []Original{{Pointer: pointer, Was: Number(n), Set: Number(replicas)}}, true
}
