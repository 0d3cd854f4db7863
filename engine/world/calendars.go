package world

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
)

// SetCalendar stores a new or changed calendar. It compiles the calendar, the calendars that include it, and the
// policies that name one of them. It returns the errors of the calendar.
func (tx *Tx) SetCalendar(c *v1alpha1.Calendar) field.ErrorList {
	if !c.DeletionTimestamp.IsZero() { // a user could remove its finalizer, and thus its days, at any moment
		tx.RemoveCalendar(c.Name)
		return nil
	}
	revision := revisionOf(c.UID, c.Generation)
	if old, known := tx.next.calendars[c.Name]; !known || old.revision != revision {
		tx.next.calendars[c.Name] = Calendar{object: c, revision: revision, Generation: c.Generation, file: old.file}
		tx.compileCalendars(c.Name)
	}
	return tx.next.calendars[c.Name].Invalid
}

// CheckCalendar returns the ignored events of the inline file and the errors of a new or changed calendar. Missing calendars and
// ConfigMaps are no errors, because they may be created later.
func (s *Snapshot) CheckCalendar(c *v1alpha1.Calendar) (ignored []string, errs field.ErrorList) {
	at := field.NewPath("spec")
	compiled, errs := times.Calendar(c.Name, c.Spec, times.Sources{}, at)
	return compiled.Ignored, append(errs, times.Includes(c.Name, func(name string) []string {
		if name == c.Name {
			return c.Spec.Include
		}
		return s.IncludedBy(name)
	}, at)...)
}

// Including returns the given names of calendars, and the names of all calendars that include one of them, directly
// or through other calendars. The given calendars need not exist. The time is linear in the calendars and their includes.
func (s *Snapshot) Including(names ...string) sets.Set[string] {
	includers := map[string][]string{}
	for name := range s.calendars {
		for _, inner := range s.IncludedBy(name) {
			includers[inner] = append(includers[inner], name)
		}
	}
	all := sets.New(names...)
	for left := all.UnsortedList(); len(left) > 0; {
		name := left[len(left)-1]
		left = left[:len(left)-1]
		for _, outer := range includers[name] {
			if !all.Has(outer) {
				all.Insert(outer)
				left = append(left, outer)
			}
		}
	}
	return all
}

// Days implements times.Calendars.
func (s *Snapshot) Days(name string) (timeline.Timeline, bool) {
	c, known := s.calendars[name]
	return c.Days, known && len(c.Invalid) == 0
}

// Lost returns the lost events of a calendar. A calendar with errors is lost as a whole.
func (s *Snapshot) Lost(name string) times.Loss {
	c := s.calendars[name]
	if len(c.Invalid) > 0 {
		return times.Whole(name)
	}
	return c.Lost
}

// Parts returns the parts of a calendar and of its includes, each with its source; none for a missing or invalid calendar.
func (s *Snapshot) Parts(name string) []times.Part {
	c, known := s.calendars[name]
	if !known || len(c.Invalid) > 0 {
		return nil
	}
	parts, _ := times.Parts(name, c.object.Spec, times.Sources{Text: s.readText,
		Read: func(string, string) *times.ReadFile { return c.file }}) // its errors would make the calendar invalid
	for _, inner := range c.object.Spec.Include {
		for _, p := range s.Parts(inner) {
			parts = append(parts, times.Part{Source: p.Source + " of Calendar " + inner, Days: p.Days})
		}
	}
	return parts
}

// RemoveCalendar removes a deleted calendar.
func (tx *Tx) RemoveCalendar(name string) {
	if _, known := tx.next.calendars[name]; !known {
		return
	}
	delete(tx.next.calendars, name)
	tx.compileCalendars(name)
}

// SetText stores the value of a key of a ConfigMap, or the error of reading it. It compiles the calendars that name
// the key.
func (tx *Tx) SetText(key v1alpha1.ConfigMapKey, value string, err error) {
	old, known := tx.next.texts[key]
	if known && old.value == value && (err == nil) == (old.err == nil) && (err == nil || err.Error() == old.err.Error()) {
		return
	}
	tx.next.texts[key] = text{value, err}
	var naming []string
	for name, c := range tx.next.calendars {
		if named := textOf(c.object); named != nil && *named == key {
			naming = append(naming, name)
		}
	}
	tx.compileCalendars(naming...)
}

// DropTexts drops the texts that no calendar names any more.
func (tx *Tx) DropTexts() {
	wanted := sets.New(tx.next.Texts()...)
	for key := range tx.next.texts {
		if !wanted.Has(key) {
			delete(tx.next.texts, key)
		}
	}
}

// compileCalendars compiles the given calendars and all calendars that include them. An included calendar is compiled
// before the calendar that includes it. The policies that name one of them are compiled last.
func (tx *Tx) compileCalendars(changed ...string) {
	affected := tx.next.Including(changed...)
	left := affected.Clone()
	var compile func(name string)
	compile = func(name string) {
		if !left.Has(name) {
			return
		}
		left.Delete(name)
		for _, inner := range tx.next.IncludedBy(name) {
			compile(inner)
		}
		tx.compileCalendar(name)
		tx.compiled[name] = true
	}
	for _, name := range sets.List(affected) {
		compile(name)
	}
	tx.recompile(func(p *Policy) bool { return slices.ContainsFunc(p.Calendars, affected.Has) })
}

// compileCalendar compiles a calendar. The policies of an unreadable calendar become invalid, and their targets stay unchanged.
func (tx *Tx) compileCalendar(name string) {
	c, known := tx.next.calendars[name]
	if !known {
		return
	}
	at := field.NewPath("spec")
	c.CompiledCalendar, c.Invalid = times.CompiledCalendar{}, nil
	if errs := times.Includes(name, tx.next.IncludedBy, at); len(errs) > 0 {
		c.Invalid = errs
	} else if fault := safely(func() {
		c.CompiledCalendar,
			c.Invalid = tx.read.calendar(name, c.object.Spec, tx.sources(&c), at)
	}); fault != nil {
		c.Invalid = field.ErrorList{fault}
	}
	tx.next.calendars[name] = c
}

var errNotRead = errors.New("the ConfigMap has not been read; offline, give its manifest as well")

// readText returns the value of a key of a ConfigMap.
func (s *Snapshot) readText(key v1alpha1.ConfigMapKey) (string, error) {
	found, known := s.texts[key]
	if !known {
		return "", errNotRead
	}
	return found.value, found.err
}

// sources returns the sources of a calendar. They keep the file that they read in it.
func (tx *Tx) sources(c *Calendar) times.Sources {
	return times.Sources{
		Calendars: tx.next.Days,
		Lost:      tx.next.Lost,
		Text:      tx.next.readText,
		Read: func(text, timeZone string) *times.ReadFile {
			if !c.file.IsOf(text, timeZone) {
				if c.file = tx.files[c.object.Name]; !c.file.IsOf(text, timeZone) {
					c.file = tx.read.file(text, timeZone)
				}
			}
			return c.file
		},
	}
}

// ReadFiles reads the files of new and changed calendars and of changed texts, so that World.Update need not do it under its lock.
// The result is for Tx.SetFiles, by the name of the calendar.
func (s *Snapshot) ReadFiles(changed []*v1alpha1.Calendar, texts map[v1alpha1.ConfigMapKey]string) map[string]*times.ReadFile {
	objects := map[string]*v1alpha1.Calendar{}
	for name, c := range s.calendars {
		objects[name] = c.object
	}
	for _, c := range changed {
		objects[c.Name] = c
	}
	files := map[string]*times.ReadFile{}
	for name, c := range objects {
		if text, known := s.textFor(c, texts); known && !s.calendars[name].file.IsOf(text, c.Spec.TimeZone) {
			// After a panic the transaction reads the file itself, and reports the fault.
			_ = safely(func() { files[name] = times.Read(text, c.Spec.TimeZone) })
		}
	}
	return files
}

// textFor returns the file of a calendar: inline, from changed texts, or from known ones. known is false if there is none.
func (s *Snapshot) textFor(c *v1alpha1.Calendar, texts map[v1alpha1.ConfigMapKey]string) (text string, known bool) {
	key := textOf(c)
	switch {
	case c.Spec.ICS == nil:
		return "", false
	case key == nil:
		return c.Spec.ICS.Inline, true
	}
	if text, known = texts[*key]; known {
		return text, true
	}
	return s.Text(*key)
}

// SetFiles gives the transaction the files that its calendars will need.
func (tx *Tx) SetFiles(files map[string]*times.ReadFile) { tx.files = files }
