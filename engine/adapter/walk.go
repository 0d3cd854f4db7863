package adapter

import (
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
)

// pathUse says what the match of a path of the walk is kept for.
type pathUse struct {
	of    pathUseOf
	index int // of slots, parents or each
}

type pathUseOf uint8

const (
	ofLedger pathUseOf = iota
	ofSlot
	ofParent
	ofCount
	ofName
)

// compileWalk makes the one set of paths that a whole object is read with: those of the metadata, then the others.
func (pr *projection) compileWalk() {
	pr.metadataPaths = pr.metadata.Paths()
	paths := pr.metadataPaths
	add := func(p path.Path, of pathUseOf, index int) {
		paths = append(paths, p)
		pr.uses = append(pr.uses, pathUse{of, index})
	}
	add(path.Path{}.Field("metadata").Field("annotations").Field(v1alpha1.AnnotationLedger), ofLedger, 0)
	for i, s := range pr.slots {
		add(s.path, ofSlot, i)
	}
	for i, p := range pr.parents {
		add(p.path, ofParent, i)
	}
	for i, e := range pr.each {
		add(e.count, ofCount, i)
		add(e.named, ofName, i)
	}
	pr.set = path.NewSet(paths...)
}
