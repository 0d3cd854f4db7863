package world

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy/times"
)

// PanicOver makes the reading of every Calendar and Adapter with this name panic.
func (w *World) PanicOver(name string) {
	read := w.read
	w.read.calendar = func(n string, spec v1alpha1.CalendarSpec, from times.Sources, at *field.Path) (
		times.CompiledCalendar, field.ErrorList) {
		if n == name {
			panic("a stone in the works")
		}
		return read.calendar(n, spec, from, at)
	}
	w.read.adapter = func(n string, spec v1alpha1.AdapterSpec, keys adapter.Keys) (*adapter.Adapter, field.ErrorList) {
		if n == name {
			panic("a stone in the works")
		}
		return read.adapter(n, spec, keys)
	}
}

// CountFiles makes the world count the files that its transactions read.
func (w *World) CountFiles() *int {
	n, read := new(int), w.read.file
	w.read.file = func(text, timeZone string) *times.ReadFile {
		*n++
		return read(text, timeZone)
	}
	return n
}
