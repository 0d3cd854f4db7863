package adapter

import (
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
)

// role says what a path of the walk is for.
type role uint8

const (
	roleName role = iota
	roleNamespace
	roleUID
	roleResourceVersion
	roleGeneration
	roleCreated
	roleDeleting
	roleLabels
	roleOwners
	roleLedger
	roleAnnotation // index: of match
	roleTemplate
	roleSlot   // index: of slots
	roleParent // index: of parents
	roleCount  // index: of each
	roleNamed  // index: of each
)

type extract struct {
	role  role
	index int
}

// compileWalk makes the one set of paths that a whole object is read with.
func (pr *projection) compileWalk() {
	var paths []path.Path
	add := func(p path.Path, r role, index int) {
		paths = append(paths, p)
		pr.kinds = append(pr.kinds, extract{r, index})
	}
	metadata := path.Path{}.Field("metadata")
	annotations := metadata.Field("annotations")
	for r, name := range [...]string{
		roleName: "name", roleNamespace: "namespace", roleUID: "uid", roleResourceVersion: "resourceVersion",
		roleGeneration: "generation", roleCreated: "creationTimestamp", roleDeleting: "deletionTimestamp",
		roleLabels: "labels", roleOwners: "ownerReferences",
	} {
		add(metadata.Field(name), role(r), 0)
	}
	add(annotations.Field(v1alpha1.AnnotationLedger), roleLedger, 0)
	for i, key := range pr.match {
		add(annotations.Field(key), roleAnnotation, i)
	}
	if pr.template.Len() > 0 {
		add(pr.template, roleTemplate, 0)
	}
	for i, s := range pr.slots {
		add(s.path, roleSlot, i)
	}
	for i, p := range pr.parents {
		add(p.path, roleParent, i)
	}
	for i, e := range pr.each {
		add(e.count, roleCount, i)
		add(e.named, roleNamed, i)
	}
	pr.set = path.NewSet(paths...)
}
