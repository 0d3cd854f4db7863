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

// Sleeper is an object that a tool keeps asleep, or has kept asleep, with the tool's record of its originals.
type Sleeper struct {
	Object    Object
	Originals []Original
	// Marks are JSON pointers of other marks on the object. The tool has left them there, or a step before the take-over.
	Marks []string
	// GiveBack is true if no policy replaces the tool. The originals are then restored at once.
	GiveBack bool
	// Notes are remarks for a person. ByHand are manual steps that the take-over cannot do.
	Notes, ByHand []string
}

// Original is a field that a tool has changed.
type Original struct {
	// Pointer is the JSON pointer of the field. Each token is the name of a member, not an index.
	Pointer string
	// Was is the JSON text of the original. It is empty if the field was absent.
	Was string
	// Set is the JSON text of the value that the tool has set. It is empty if the tool has removed the field.
	Set string
	// AnySet is true if the value that the tool has set is unknown. Any present value then counts as set by the tool.
	AnySet bool
	// Replaced is true if Flyball puts the object to sleep by another field. The original of this field is then restored.
	Replaced bool
	// Made is true if the tool has created the JSON object around the field. It is removed too if it becomes empty.
	Made bool
}

// Handover is the take-over of one object.
type Handover struct {
	Target string `json:"target"`
	// By is the policy that keeps the object asleep after the take-over. It is empty if only marks are removed.
	By string `json:"by,omitempty"`
	// Fields are the new entries of the ledger.
	Fields []Taken `json:"fields,omitempty"`
	// Marks are the JSON pointers of the removed marks.
	Marks []string `json:"marks,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// ByHand are the manual steps.
	ByHand []string `json:"byHand,omitempty"`
	// Left is the reason why the object is not changed. It is empty if the object is changed. Wake is a command that
	// restores the originals of an object that is not changed.
	Left string `json:"left,omitempty"`
	Wake string `json:"wake,omitempty"`
	// Patch is the merge patch. Its precondition is the resourceVersion that was read. It is absent if there is nothing to
	// write.
	Patch json.RawMessage `json:"patch,omitempty"`
	// Done is true once the patch is written. Error is the reason why the write failed.
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error,omitempty"`

	// Ref is the reference of the object in Target. Policy is the policy in By.
	Ref    workload.Ref    `json:"-"`
	Policy workload.Policy `json:"-"`

	// after holds the object after the write. changes holds the changes of the object's state.
	after   []byte
	changes []StateChange
}

// Taken is a field in the ledger.
type Taken struct {
	Pointer string `json:"pointer"`
	Was     string `json:"was,omitempty"`
	Set     string `json:"set,omitempty"`
}

// takeover is the state of the take-over of one object.
type takeover struct {
	Handover
	live    Object
	sleeper Sleeper
	// open are the originals that the ledger must have after the take-over. awake holds the object with its originals.
	open  []Original
	awake []byte
	// back is the merge patch that changes the present object to awake.
	back []byte
}

// TakeOver returns the write to each sleeper. After the write, the object has the ledger that it would have if Flyball
// had put it to sleep itself, and no marks of the tool. TakeOver restores the originals in memory and lets the policies
// of the world put the object to sleep again. The write is the difference between the result and the present object.
// Each ledger entry therefore comes from the engine and has the policy that claims the field. An object that no policy
// claims is left as it is, because a ledger entry would wake it.
func TakeOver(in world.Lists, sleepers []Sleeper, now time.Time) ([]*Handover, error) {
	var works []*takeover
	for _, s := range united(sleepers) {
		w := &takeover{Handover: Handover{Target: s.Object.Ref().String(), Notes: s.Notes, ByHand: s.ByHand, Ref: s.Object.Ref()}, live: s.Object,
			sleeper: s}
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

// united merges sleepers that are the same object.
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

// awakeWorld returns the world in which the sleepers have their originals again.
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

// restore restores the originals and removes the marks. It does so only in memory.
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
			continue // an earlier take-over has made this entry, which stays
		case !o.AnySet && !equal(current, o.Set):
			w.note("%s is %s, and the tool had set %s: another writer has changed the value since, so it stays without a ledger entry", o.Pointer,
				brief(current), brief(o.Set))
			continue
		case equal(o.Was, current):
			continue // the field already has its original
		case w.sleeper.GiveBack:
			w.note("%s goes back from %s to %s: no policy here sets it", o.Pointer, brief(current), brief(o.Was))
		default:
			w.open = append(w.open, o)
		}
		if o.Was != "" {
			workload.SetAt(edit, tokens, json.RawMessage(o.Was))
			continue
		}
		workload.SetAt(edit, tokens, nil)
		if around := tokens[:len(tokens)-1]; o.Made && len(w.live.At(around).Map()) == 1 {
			workload.SetAt(edit, around, nil)
		}
	}
	for _, m := range w.sleeper.Marks {
		if tokens := path.Pointer(m).Tokens(); w.live.At(tokens).Exists() {
			w.Marks = append(w.Marks, m)
			workload.SetAt(edit, tokens, nil)
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

// claim lets the policies put the object to sleep, and returns the sleeping object. If no policy does so, it returns
// nil and sets Left to the reason.
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
	// No policy wants the object asleep now. The entry then belongs to the policy that wanted it asleep last. The manager
	// wakes the object as soon as the entry exists.
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

// selecting describes the policies that select the object without putting it to sleep.
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

// asleepAt returns the object after the write of a verdict. It returns nil if the ledger would lack an original after
// the write.
func (w *takeover) asleepAt(memory *world.Memory, v *decide.Verdict) ([]byte, error) {
	raw := memory.Raw(w.Ref)
	if v.Result.Patch == nil {
		return w.asleepAlready(raw)
	}
	for p := v.Result.Patch; p != nil; p = p.Next {
		if p.Subresource != "" {
			continue // the count already has this value
		}
		var err error
		if raw, err = workload.Patched(raw, p); err != nil {
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

// asleepAlready returns the present object if Flyball has already put it to sleep by other fields than the tool. Only
// the changes of the tool are then undone. It returns nil if the ledger would lack an original.
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
