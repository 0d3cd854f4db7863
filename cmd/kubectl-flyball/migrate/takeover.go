package migrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Sleeper is an object that a tool keeps asleep, or once did, with what the tool remembers of it.
type Sleeper struct {
	Object    Object
	Originals []Original
	// Marks are JSON pointers of what the tool, or a step before the take-over, has left on the object besides.
	Marks []string
	// GiveBack is true where no policy takes the place of the tool: the originals go back at once.
	GiveBack bool
	// Notes are what a person should know, and ByHand what a person has to do: no take-over can.
	Notes, ByHand []string
}

// Original is one field that a tool has changed.
type Original struct {
	// Pointer is the JSON pointer of the field; every token is a member's name.
	Pointer string
	// Was is the JSON text of what was there before; empty: nothing.
	Was string
	// Set is the JSON text of what the tool has written; empty: it has removed the field.
	Set string
	// AnySet is true where it is not known what the tool has written: whatever is there is taken for that.
	AnySet bool
	// Replaced is true where Flyball puts the object to sleep by another field, and this one goes.
	Replaced bool
	// Made is true where the object around the field goes too, if nothing else is in it.
	Made bool
}

// Handover is what is to be written to one object.
type Handover struct {
	Target string `json:"target"`
	// By is the policy whose doing the sleep is from now on; empty where only marks go.
	By string `json:"by,omitempty"`
	// Fields are what comes into the ledger.
	Fields []Taken `json:"fields,omitempty"`
	// Marks are the JSON pointers of what goes.
	Marks []string `json:"marks,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// ByHand is what a person has to do.
	ByHand []string `json:"byHand,omitempty"`
	// Left says why the object is left as it is; empty: it is not. Wake is the command that gives the originals back then.
	Left string `json:"left,omitempty"`
	Wake string `json:"wake,omitempty"`
	// Patch is the merge patch, with the resourceVersion that was read as its precondition; absent where there is nothing to write.
	Patch json.RawMessage `json:"patch,omitempty"`
	// Done is true once it is written, and Error says why it could not be.
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error,omitempty"`

	// Ref is the object that Target names, and Policy the policy that By does.
	Ref    workload.Ref    `json:"-"`
	Policy workload.Policy `json:"-"`

	// after is the object once this is written, and changes are what changes of its state then.
	after   []byte
	changes []StateChange
}

// Taken is one field in the ledger.
type Taken struct {
	Pointer string `json:"pointer"`
	Was     string `json:"was,omitempty"`
	Set     string `json:"set,omitempty"`
}

// takeover is the work on one object while it lasts.
type takeover struct {
	Handover
	live    Object
	sleeper Sleeper
	// open are the originals that come into the ledger, and awake is the object as its owner has it.
	open  []Original
	awake []byte
	// back is the merge patch by which it gets there.
	back []byte
}

// TakeOver works out what is to be written to each sleeper: the ledger that Flyball would have written had it put the object to sleep
// itself, and the tool's marks out. It puts the originals back in memory, has the policies of the world put the object to sleep
// again, and gives the difference to the object as it is. So every entry is the engine's own, with the policy that claims the field.
// What no policy claims is left as it is: the ledger alone would wake it.
func TakeOver(in world.Lists, sleepers []Sleeper, now time.Time) ([]*Handover, error) {
	var works []*takeover
	for _, s := range united(sleepers) {
		w := &takeover{Handover: Handover{Target: s.Object.Ref().String(), Notes: s.Notes, ByHand: s.ByHand, Ref: s.Object.Ref()}, live: s.Object, sleeper: s}
		if err := w.restore(); err != nil {
			return nil, err
		}
		if len(w.open)+len(w.Marks)+len(w.Notes)+len(w.ByHand) > 0 {
			works = append(works, w)
		}
	}
	memory, err := awakeWorld(in, works)
	if err != nil {
		return nil, err
	}
	all := make([]*Handover, 0, len(works))
	for _, w := range works {
		if err := w.hand(memory, now); err != nil {
			return nil, err
		}
		all = append(all, &w.Handover)
	}
	slices.SortFunc(all, func(a, b *Handover) int { return a.Ref.Compare(b.Ref) })
	return all, nil
}

// united are the sleepers, one an object.
func united(sleepers []Sleeper) []Sleeper {
	var all []Sleeper
	for _, s := range sleepers {
		i := slices.IndexFunc(all, func(o Sleeper) bool { return o.Object.Ref() == s.Object.Ref() })
		if i < 0 {
			all = append(all, s)
			continue
		}
		all[i].Originals = slices.Concat(all[i].Originals, s.Originals)
		all[i].Marks = slices.Concat(all[i].Marks, s.Marks)
		all[i].Notes = slices.Concat(all[i].Notes, s.Notes)
		all[i].ByHand = slices.Concat(all[i].ByHand, s.ByHand)
	}
	return all
}

// awakeWorld is the world in which the originals are back.
func awakeWorld(in world.Lists, works []*takeover) (*world.Memory, error) {
	objects := slices.DeleteFunc(slices.Clone(in.Objects), func(raw []byte) bool {
		ref := NewObject(raw, "").Ref()
		return slices.ContainsFunc(works, func(w *takeover) bool { return w.Ref == ref })
	})
	for _, w := range works {
		objects = append(objects, w.awake)
	}
	in.Objects = objects
	return world.NewMemory(in)
}

// restore puts the originals back and takes the marks out, in memory.
func (w *takeover) restore() error {
	ledger, _, err := workload.ParseLedger(cmp.Or(w.live.Get("metadata.annotations").Map()[v1alpha1.AnnotationLedger].String(), "{}"))
	if err != nil {
		w.Left = err.Error() + ": it is never written"
	}
	edit := map[string]any{}
	for _, o := range w.sleeper.Originals {
		tokens := path.Pointer(o.Pointer).Tokens()
		current := w.live.At(tokens).Raw
		switch {
		case ledger.Find(o.Pointer) != nil:
			continue // it has been taken over, and an entry that is there stays
		case !o.AnySet && !equal(current, o.Set):
			w.note("%s is %s, and the tool had set %s: somebody has changed it since, so it stays and nothing comes into the ledger", o.Pointer, brief(current), brief(o.Set))
			continue
		case equal(o.Was, current):
			continue // nothing was changed
		case w.sleeper.GiveBack:
			w.note("%s goes back from %s to %s: no policy here sets it", o.Pointer, brief(current), brief(o.Was))
		default:
			w.open = append(w.open, o)
		}
		if o.Was != "" {
			world.SetAt(edit, tokens, json.RawMessage(o.Was))
			continue
		}
		world.SetAt(edit, tokens, nil)
		if around := tokens[:len(tokens)-1]; o.Made && len(w.live.At(around).Map()) == 1 {
			world.SetAt(edit, around, nil)
		}
	}
	for _, m := range w.sleeper.Marks {
		if tokens := path.Pointer(m).Tokens(); w.live.At(tokens).Exists() {
			w.Marks = append(w.Marks, m)
			world.SetAt(edit, tokens, nil)
		}
	}
	if w.back, err = json.Marshal(edit); err != nil {
		return fmt.Errorf("%s: put the originals back: %w", w.Target, err)
	}
	if w.awake, err = jsonpatch.MergePatch([]byte(w.live.Raw), w.back); err != nil {
		return fmt.Errorf("%s: put the originals back: %w", w.Target, err)
	}
	return nil
}

// hand finds the policy that claims the originals, and makes the patch.
func (w *takeover) hand(memory *world.Memory, now time.Time) error {
	w.after = []byte(w.live.Raw)
	if w.Left != "" {
		w.Marks = nil
		return nil
	}
	after := w.awake
	if len(w.open) > 0 {
		claimed, err := w.claim(memory, now)
		if err != nil {
			return err
		}
		if claimed == nil {
			w.Marks = nil
			w.Wake = Command("patch", w.Ref.GroupKind, w.Ref.Namespace, []string{w.Ref.Name}, "--type=merge -p "+ShellQuoted(string(w.back)))
			return nil
		}
		after = claimed
	}
	w.after = after
	return w.diff(after)
}

// claim has the policies put the object to sleep, and gives the object then; nil where none does, and Left says so.
func (w *takeover) claim(memory *world.Memory, now time.Time) ([]byte, error) {
	kind := memory.Kind(w.Ref.GroupKind)
	switch {
	case kind == nil:
		w.Left = "there is no adapter of its kind"
		return nil, nil
	case kind.Blocked != "":
		w.Left = kind.Blocked
		return nil, nil
	}
	first := decide.Target(memory, w.Ref, now, nil)
	if first.Err != nil {
		w.Left = first.Err.Error()
		return nil, nil //nolint:nilerr // what cannot be taken over is said of the object, and the others go on
	}
	after, err := w.asleepAt(memory, &first)
	if after != nil || err != nil {
		return after, err
	}
	// Nobody wants it asleep now. Whoever did before it woke is who the entry is of; the manager wakes it as soon as that is there.
	for i := range first.Opinions {
		p := first.Opinions[i].Policy
		since := p.State(now).Since
		if since.IsZero() || first.Opinions[i].Left {
			continue
		}
		v := decide.Target(memory, w.Ref, since.Add(-time.Second), nil)
		if after, err := w.asleepAt(memory, &v); after != nil || err != nil {
			w.note("%s has it awake since %s: the manager wakes it at once", p.ID, since.UTC().Format(time.RFC3339))
			return after, err
		}
	}
	w.Left = "no policy puts it to sleep by " + w.pointers() + ": " + w.selecting(&first, now)
	return nil, nil
}

// selecting says which policies select the object although none puts it to sleep.
func (w *takeover) selecting(v *decide.Verdict, now time.Time) string {
	var all []string
	for _, o := range v.Opinions {
		if !o.Left && !o.OnBehalf {
			all = append(all, fmt.Sprintf("%s selects it and is %s", o.Policy.ID, o.Policy.State(now).Name))
		}
	}
	switch {
	case len(all) > 0:
		return strings.Join(all, ", ")
	case w.live.Labels()[v1alpha1.LabelExclude] == "true":
		return "its label " + v1alpha1.LabelExclude + "=true keeps it out of them"
	}
	return "none selects it"
}

func (w *takeover) pointers() string {
	var all []string
	for _, o := range w.open {
		all = append(all, o.Pointer)
	}
	return strings.Join(all, " and ")
}

// asleepAt is the object as a verdict leaves it, if all originals are in its ledger then.
func (w *takeover) asleepAt(memory *world.Memory, v *decide.Verdict) ([]byte, error) {
	raw := memory.Raw(w.Ref)
	if v.Result.Patch == nil {
		return w.asleepAlready(raw)
	}
	for p := v.Result.Patch; p != nil; p = p.Next {
		if p.Subresource != "" {
			continue // the count is as it is already
		}
		var err error
		if raw, err = world.Patched(raw, p); err != nil {
			return nil, fmt.Errorf("%s: %w", w.Target, err)
		}
	}
	ledger, _, err := workload.ParseLedger(NewObject(raw, "").Get("metadata.annotations").Map()[v1alpha1.AnnotationLedger].String())
	if err != nil {
		return nil, nil //nolint:nilerr // a patch that leaves no ledger puts nothing to sleep
	}
	for _, o := range w.open {
		if !o.Replaced && ledger.Find(o.Pointer) == nil {
			return nil, nil
		}
	}
	w.Fields = nil
	for _, e := range ledger {
		if slices.Contains(v.Result.Changed, e.Pointer) {
			w.Policy = workload.ParsePolicy(e.By)
			w.By = w.Policy.String()
			w.Fields = append(w.Fields, Taken{Pointer: e.Pointer, Was: e.Original(), Set: e.Set})
		}
	}
	if v.Gate.Kind == decide.GateFreeze {
		w.note("a freeze may refuse the patch: %s", v.Gate.Reason)
	}
	return raw, nil
}

// asleepAlready is the object as it is, if Flyball has put it to sleep in its own way beside the tool's: then only what the tool
// did has to go. It is nil if something has still to come into the ledger.
func (w *takeover) asleepAlready(raw []byte) ([]byte, error) {
	ledger, _, err := workload.ParseLedger(NewObject(raw, "").Get("metadata.annotations").Map()[v1alpha1.AnnotationLedger].String())
	if err != nil || len(ledger) == 0 || slices.ContainsFunc(w.open, func(o Original) bool { return !o.Replaced }) {
		return nil, nil //nolint:nilerr // a ledger that cannot be read puts nothing to sleep
	}
	w.Policy = workload.ParsePolicy(ledger[0].By)
	w.By = w.Policy.String()
	return raw, nil
}

func (w *takeover) note(format string, args ...any) {
	w.Notes = append(w.Notes, fmt.Sprintf(format, args...))
}
