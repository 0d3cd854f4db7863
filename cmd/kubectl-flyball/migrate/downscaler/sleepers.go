package downscaler

import (
	"fmt"

	"flyball.dev/flyball/cmd/kubectl-flyball/migrate"
	"flyball.dev/flyball/engine/path"
)

// Keys of node selectors that no node meets: of GoKubeDownscaler and of py-kube-downscaler.
var matchNone = []string{"downscaler/match-none", "kube-downscaler-non-existent"}

// sleepers reads the annotation of what sleeps.
func sleepers(in *migrate.Input, out *migrate.Output) {
	w := work{in: in, out: &migrate.Output{}, config: readConfig(in, &migrate.Output{})}
	known := map[string]bool{}
	for _, gk := range byResource {
		known[gk.String()] = true
	}
	for _, o := range in.Objects {
		text, ok := o.Annotation(prefix + "original-replicas")
		if !ok {
			continue
		}
		if !known[o.GroupKind().String()] {
			if o.Get("metadata.ownerReferences.#(controller==true)").Exists() {
				continue // its controller has copied the annotation, as Deployments do to ReplicaSets
			}
			out.Leave(o, "its original is %s: no adapter of the library does to its kind what the tool did, so wake it by hand", text)
			continue
		}
		replicas, _ := replicasOf(w.scopes(annotated(o), w.namespaceScope(o.Namespace())))
		s := migrate.Sleeper{Object: o, Marks: []string{migrate.AnnotationPointer(prefix + "original-replicas")}}
		originals, ok := originals(o, text, replicas)
		if !ok {
			s.Marks, s.ByHand = nil, []string{fmt.Sprintf("the original is %q, which cannot be read: set it by hand and take the annotation away", text)}
		}
		s.Originals = originals
		out.Sleepers = append(out.Sleepers, s)
	}
}

// originals is what was there before, by kind; false: the text cannot be read.
func originals(o migrate.Object, text string, replicas int64) ([]migrate.Original, bool) {
	n, isCount := migrate.Count(text)
	ran := text == "false" || isCount && n == 1 // of kinds with a switch
	rested := text == "true" || isCount && n == 0
	switch o.GroupKind() {
	case migrate.CronJob, migrate.Job:
		if ran {
			return []migrate.Original{{Pointer: "/spec/suspend", Was: "false", Set: "true"}}, true
		}
		return nil, rested
	case migrate.DaemonSet:
		if !ran {
			return nil, rested
		}
		for _, key := range matchNone {
			if selector := o.Get("spec.template.spec.nodeSelector").Map(); selector[key].Exists() {
				return []migrate.Original{{Pointer: string(path.Pointer("/spec/template/spec/nodeSelector").Append(key)), Set: migrate.Quoted(selector[key].Str), Replaced: true, Made: true}}, true
			}
		}
		return nil, true
	case migrate.ScaledObject:
		original := migrate.Original{Pointer: migrate.AnnotationPointer("autoscaling.keda.sh/paused-replicas"), Was: migrate.Quoted(text), Set: migrate.Quoted(migrate.Number(replicas))}
		if text == "-1" {
			original.Was = ""
			return []migrate.Original{original}, true
		}
		return []migrate.Original{original}, isCount
	}
	if !isCount {
		return nil, false
	}
	pointer := "/spec/replicas"
	switch o.GroupKind() {
	case migrate.Autoscaler:
		pointer = "/spec/minReplicas"
	case migrate.Postgres:
		pointer = "/spec/numberOfInstances"
	}
	return []migrate.Original{{Pointer: pointer, Was: migrate.Number(n), Set: migrate.Number(replicas)}}, true
}
