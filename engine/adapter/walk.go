package adapter

import (
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
)

// compileWalk makes the set of paths for reading a whole object: first the paths of the metadata, then all other paths.
// Each of the other paths has a function that takes its matches.
func (pr *projection) compileWalk() {
	paths := pr.metadata.Paths()
	pr.metadataPaths = len(paths)
	add := func(p path.Path, take func(*reading, path.Match)) {
		paths = append(paths, p)
		pr.takers = append(pr.takers, take)
	}
	add(path.Path{}.Field("metadata").Field("annotations").Field(v1alpha1.AnnotationLedger), (*reading).takeLedger)
	for _, s := range pr.slots {
		add(s.path, func(r *reading, m path.Match) { r.takeField(s, m) })
	}
	for i, p := range pr.parents {
		add(p.path, func(r *reading, m path.Match) {
			if m.Exists() {
				r.parents[i] = m.Raw[0]
			}
		})
	}
	for i, e := range pr.each {
		if e.lazy {
			continue
		}
		for k, p := range e.paths() {
			add(p, func(r *reading, m path.Match) { r.lists[i].take(r, k, m) })
		}
	}
	pr.set = path.NewSet(paths...)
}
