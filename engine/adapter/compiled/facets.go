package compiled

import (
	"encoding/json"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

func (c *compiler) scale(at *field.Path, specs []v1alpha1.ScaleComponent) {
	names := map[string]bool{}
	for i, spec := range specs {
		here, used := at.Index(i), len(c.a.uses)
		oneOf(c, here.Child("via"), spec.Via, v1alpha1.ViaPatch, v1alpha1.ViaScale)
		c.notNegative(here.Child("default"), spec.Default)
		c.notNegative(here.Child("minimum"), &spec.Minimum)
		if names[spec.Name] {
			c.errs = append(c.errs, field.Duplicate(here.Child("name"), spec.Name))
		}
		names[spec.Name] = true
		if spec.Via == v1alpha1.ViaScale && c.a.UsesScale() {
			c.invalid(here.Child("via"), spec.Via, "an object has one /scale subresource, and another component uses it")
		}
		part := Component{Name: spec.Name, absent: spec.Default, Minimum: spec.Minimum, viaScale: spec.Via == v1alpha1.ViaScale}
		part.When = c.predicates(here.Child("when"), spec.When, c.d)
		if spec.Default != nil && *spec.Default < spec.Minimum {
			c.invalid(here.Child("default"), *spec.Default, "must not be below the minimum of %d", spec.Minimum)
		}
		if spec.ZeroMeans != nil {
			part.zero = *spec.ZeroMeans
			c.zeroMeans(here.Child("zeroMeans"), spec)
		}
		if spec.Each == "" {
			c.single(here, spec, &part)
		} else {
			c.many(here, i, spec, &part)
		}
		c.optional(here, used, spec.Optional)
		c.a.Components = append(c.a.Components, part)
	}
}

// zeroMeans checks that no size asks for a count of 0 if the kind takes 0 for a higher count.
func (c *compiler) zeroMeans(at *field.Path, spec v1alpha1.ScaleComponent) {
	switch {
	case *spec.ZeroMeans < 1:
		c.invalid(at, *spec.ZeroMeans, "must be 1 or more")
	case spec.Minimum < 1:
		c.invalid(at, *spec.ZeroMeans, "needs a minimum of 1 or more: a count of 0 would not be none")
	}
}

func (c *compiler) single(at *field.Path, spec v1alpha1.ScaleComponent, part *Component) {
	if spec.Name == "" {
		c.required(at.Child("name"), "a name, unless each is set")
	}
	if spec.NameFrom != "" {
		c.invalid(at.Child("nameFrom"), spec.NameFrom, "goes together with each")
	}
	if p, ok := c.writable(at.Child("replicas"), facetScale, spec.Replicas); ok {
		part.Slot = c.d.Write(p)
		part.Slot.ViaScale = part.viaScale
		c.use(at.Child("replicas"), p, true, path.Number)
	}
}

func (c *compiler) many(at *field.Path, index int, spec v1alpha1.ScaleComponent, part *Component) {
	if spec.Via == v1alpha1.ViaScale {
		c.invalid(at.Child("via"), spec.Via, "/scale has one count: it cannot be used with each")
	}
	if len(spec.When) > 0 {
		c.errs = append(c.errs, field.Forbidden(at.Child("when"), "cannot be used with each"))
	}
	each, okEach := c.parse(at.Child("each"), spec.Each)
	named, okName := path.Path{}, true
	if spec.NameFrom != "" {
		named, okName = c.plain(at.Child("nameFrom"), spec.NameFrom)
	}
	count, okCount := c.plain(at.Child("replicas"), spec.Replicas)
	if !okEach || !okName || !okCount {
		return
	}
	steps := each.Steps()
	if last := steps[len(steps)-1].Kind; last != path.Wildcard && last != path.Where {
		c.invalid(at.Child("each"), spec.Each, "must end in [*] or a filter, which yields the elements of a list")
		return
	}
	counts := each.Join(count)
	if why := Forbidden(counts.Steps()); why != "" {
		c.invalid(at.Child("replicas"), spec.Replicas, "%s", why)
		return
	}
	c.written = append(c.written, writtenPath{at.Child("replicas"), facetScale, counts})
	c.use(at.Child("each"), each, false, path.Object)
	c.lastUse().ByPosition = spec.NameFrom == ""
	var names []path.Path
	if spec.NameFrom != "" {
		names = append(names, each.Join(named))
		c.use(at.Child("nameFrom"), names[0], false, path.String)
	}
	c.use(at.Child("replicas"), counts, true, path.Number)
	c.each = append(c.each, projection.NewList(c.each, workload.Part{Index: uint8(index)}, each, counts, false, names...))
	part.each = &counts
}

func (c *compiler) variants(at *field.Path, f facet, specs []v1alpha1.Variant) []Variant {
	var all []Variant
	for i, spec := range specs {
		here, used := at.Index(i), len(c.a.uses)
		if i > 0 && len(specs[i-1].When) == 0 && !specs[i-1].Optional {
			c.errs = append(c.errs, field.Forbidden(here, "is never used: the variant before it has no when"))
		}
		oneOf(c, here.Child("impact"), spec.Impact, v1alpha1.ImpactNone, v1alpha1.ImpactRollout)
		if len(spec.Set) == 0 {
			c.required(here.Child("set"), "at least one field to write")
		}
		v := Variant{When: c.predicates(here.Child("when"), spec.When, c.d), Rollout: spec.Impact == v1alpha1.ImpactRollout}
		v.Already = c.predicates(here.Child("already"), spec.Already, c.d)
		first := len(c.written)
		for j, w := range spec.Set {
			if set, ok := c.write(here.Child("set").Index(j), f, first, w); ok {
				set.Slot.Declared = true
				set.Slot.Rollout = set.Slot.Rollout || spec.Impact == v1alpha1.ImpactRollout
				v.Set = append(v.Set, set)
			}
		}
		c.optional(here, used, spec.Optional)
		all = append(all, v)
	}
	return all
}

// optional marks the uses from the index first on as those of an optional item.
func (c *compiler) optional(at *field.Path, first int, is bool) {
	for i := first; is && i < len(c.a.uses); i++ {
		c.a.uses[i].Item = at.String()
	}
}

// unable compiles the conditions of objects whose size and bounds do not change.
func (c *compiler) unable(at *field.Path, specs []v1alpha1.Unable) {
	for i, spec := range specs {
		here, used := at.Index(i), len(c.a.uses)
		if len(spec.When) == 0 {
			c.required(here.Child("when"), "at least one predicate")
		}
		if spec.Because == "" {
			c.required(here.Child("because"), "the reason, which status repeats")
		}
		if spec.AlreadyAsleep && len(spec.Claims) > 0 && !slices.Contains(spec.Claims, v1alpha1.UnableSleep) {
			c.invalid(here.Child("alreadyAsleep"), true, "needs the claim Sleep")
		}
		c.a.unable = append(c.a.unable, unable{c.predicates(here.Child("when"), spec.When, c.d), spec.Claims, spec.Because, spec.Paused,
			spec.AlreadyAsleep})
		oneOfAll(c, here.Child("claims"), spec.Claims, v1alpha1.UnableSleep, v1alpha1.UnableSize, v1alpha1.UnableBounds)
		c.optional(here, used, spec.Optional)
	}
}

// write compiles one write of a variant. c.written[first:] are the earlier writes of the same variant.
func (c *compiler) write(at *field.Path, f facet, first int, spec v1alpha1.Write) (Write, bool) {
	siblings := c.written[first:]
	p, ok := c.writable(at.Child("path"), f, spec.Path)
	if !ok {
		return Write{}, false
	}
	for _, other := range siblings {
		if path.Overlap(other.path, p) {
			c.invalid(at.Child("path"), spec.Path, "overlaps with %s of %s", other.path, other.at)
			return Write{}, false
		}
	}
	raw := spec.Value.Raw // empty after a null was decoded
	if len(raw) > 0 && !json.Valid(raw) {
		c.invalid(at.Child("value"), string(raw), "is not JSON")
		return Write{}, false
	}
	value := compact(raw)
	if path.NewValue(value, "").Type() == path.Object && value != "{}" {
		c.invalid(at.Child("value"), value,
			"must not be an object with members: set each by its own path, or an edit of another one is taken for the value")
		return Write{}, false
	}
	awake := c.awake(at.Child("awake"), value, spec.Awake)
	var types []path.Type
	var values []string
	for _, text := range []string{value, awake} {
		if v := path.NewValue(text, ""); v.Exists() && !slices.Contains(values, text) {
			values = append(values, text)
			types = append(types, v.Type())
		}
	}
	c.use(at.Child("path"), p, true, types...)
	c.lastUse().Values = values
	return Write{Slot: c.d.Write(p), Value: value, Awake: awake}, true
}

// awake compiles the value that is written on waking where the field was absent.
func (c *compiler) awake(at *field.Path, value string, spec *apiextensionsv1.JSON) string {
	if spec == nil {
		return ""
	}
	known := len(c.errs)
	awake := c.literal(at, spec.Raw)
	switch {
	case len(c.errs) > known:
	case value == "":
		c.invalid(at, awake, "needs a value: an absent field that is removed needs no write")
	case path.NewValue(awake, "").Type() != path.NewValue(value, "").Type(), path.Equal(awake, value):
		c.invalid(at, awake, "must be another value of the same type")
	}
	return awake
}

func (c *compiler) bounds(at *field.Path, spec *v1alpha1.Bounds) {
	if spec == nil {
		return
	}
	if spec.Min == nil && spec.Max == nil {
		c.required(at, "min, max or both")
	}
	oneOf(c, at.Child("encoding"), spec.Encoding, v1alpha1.EncodingInteger, v1alpha1.EncodingString)
	c.a.encoding = spec.Encoding
	c.a.LiftsCounts = spec.LiftsCounts
	if spec.LiftsCounts && (spec.Each == "" || spec.Min == nil || !c.scalesEach(spec.Each)) {
		c.invalid(at.Child("liftsCounts"), true, "needs min, and the same each in scale and bounds")
	}
	if spec.Each != "" {
		c.boundsEach(at, spec)
		return
	}
	if spec.NameFrom != "" {
		c.invalid(at.Child("nameFrom"), spec.NameFrom, "goes together with each")
	}
	c.a.Min = c.bound(at.Child("min"), spec.Min, spec.Encoding)
	c.a.Max = c.bound(at.Child("max"), spec.Max, spec.Encoding)
}

func (c *compiler) bound(at *field.Path, spec *v1alpha1.Bound, encoding v1alpha1.Encoding) *Bound {
	if spec == nil {
		return nil
	}
	c.boundNumbers(at, spec)
	p, ok := c.writable(at.Child("path"), facetBounds, spec.Path)
	if !ok {
		return nil
	}
	c.use(at.Child("path"), p, true, boundType(encoding))
	return &Bound{Slot: c.d.Write(p), absent: spec.Default, Minimum: spec.Minimum, Unlimited: spec.Unlimited}
}

func (c *compiler) boundNumbers(at *field.Path, spec *v1alpha1.Bound) {
	c.notNegative(at.Child("default"), spec.Default)
	c.notNegative(at.Child("minimum"), &spec.Minimum)
	c.notNegative(at.Child("unlimited"), spec.Unlimited)
	if d := spec.Default; d != nil && *d < spec.Minimum && (spec.Unlimited == nil || *d != *spec.Unlimited) {
		c.invalid(at.Child("default"), *d, "must not be below the minimum of %d", spec.Minimum)
	}
}

// boundType returns the JSON type of a bound.
func boundType(encoding v1alpha1.Encoding) path.Type {
	if encoding == v1alpha1.EncodingString {
		return path.String
	}
	return path.Number
}

// predicate is one compiled test. Depending on op, exactly one of value, list and from is used.
type predicate struct {
	op     v1alpha1.PredicateOp
	slot   *projection.Slot
	absent string // the meaning of an absent field
	value  string
	list   []json.RawMessage
	from   *projection.Slot
	// when are the conditions of the test: an object that does not match them passes without a test. Empty: every object is
	// tested.
	when predicates
}

// predicates hold for an object if each of them does.
type predicates []predicate

// staysAtZero compiles the predicates of autoscalers that need no hold before their target goes to zero.
func (c *compiler) staysAtZero(at *field.Path, spec v1alpha1.AdapterSpec) {
	if len(spec.StaysAtZero) > 0 && (spec.Governs == "" || len(spec.Hold) == 0) {
		c.errs = append(c.errs, field.Forbidden(at, "needs governs and hold: it says when an autoscaler is held because its target sleeps"))
	}
	c.a.StaysAtZero = c.predicates(at, spec.StaysAtZero, c.d)
}

// holdsAutoscaler compiles the effect of a hold on an autoscaler, and the predicates of NotSeen.
func (c *compiler) holdsAutoscaler(at *field.Path, spec v1alpha1.AdapterSpec) {
	holds := spec.Governs != "" && len(spec.Hold) > 0
	if spec.HoldsAnySize && !holds {
		c.errs = append(c.errs, field.Forbidden(at.Child("holdsAnySize"), "needs governs and hold"))
	}
	if len(spec.SeenWhen) > 0 && !holds && spec.Owns == nil {
		c.errs = append(c.errs, field.Forbidden(at.Child("seenWhen"), "needs governs and hold, or owns"))
	}
	c.a.HoldsAnySize = spec.HoldsAnySize
	c.a.seenWhen = c.conditional(at.Child("seenWhen"), spec.SeenWhen, c.d)
}

// blind compiles the predicates of autoscalers that cannot read their metrics. Objects in memory have the fields of
// these predicates only while a policy tunes such objects.
func (c *compiler) blind(at *field.Path, spec v1alpha1.AdapterSpec) {
	if len(spec.Blind) > 0 && spec.Governs == "" {
		c.errs = append(c.errs, field.Forbidden(at, "needs governs: only an autoscaler can be blind"))
	}
	if !c.keys.Amounts {
		c.predicates(at, spec.Blind, projection.Builder{})
		return
	}
	c.a.Blind = c.predicates(at, spec.Blind, c.d)
}

// ready compiles the predicates of settled objects. Objects in memory have the fields of these predicates only while a
// policy waits for such objects or sets their requests.
func (c *compiler) ready(at *field.Path, spec v1alpha1.AdapterSpec) {
	d := projection.Builder{}
	sizes := slices.ContainsFunc(c.a.Amounts, func(x Amount) bool { return x.Kind == workload.AmountRequest })
	c.a.keepsReady = c.keys.Ready || c.keys.Amounts && sizes
	if c.a.keepsReady {
		d = c.d
	}
	c.a.ready = c.conditional(at, spec.Ready, d)
	for _, p := range c.a.ready {
		c.a.reported = append(c.a.reported, statusSlots(p)...)
	}
}

// conditional compiles predicates that apply only to some objects.
func (c *compiler) conditional(at *field.Path, specs []v1alpha1.ReadyPredicate, d projection.Builder) (all predicates) {
	for i, spec := range specs {
		if p, ok := c.predicate(at.Index(i), spec.Predicate, d); ok {
			p.when = c.predicates(at.Index(i).Child("when"), spec.When, d)
			all = append(all, p)
		}
	}
	return all
}

// statusSlots returns the fields of the status in a predicate.
func statusSlots(p predicate) (slots []*projection.Slot) {
	for _, s := range []*projection.Slot{p.slot, p.from} {
		if s != nil && s.Path.Len() > 0 && strings.HasPrefix(s.Path.String(), ".status") {
			slots = append(slots, s)
		}
	}
	return slots
}

func (c *compiler) predicates(at *field.Path, specs []v1alpha1.Predicate, d projection.Builder) predicates {
	var all predicates
	for i, spec := range specs {
		if p, ok := c.predicate(at.Index(i), spec, d); ok {
			all = append(all, p)
		}
	}
	return all
}

func (c *compiler) predicate(at *field.Path, spec v1alpha1.Predicate, d projection.Builder) (predicate, bool) {
	known := len(c.errs)
	p, ok := c.parse(at.Child("path"), spec.Path)
	q := predicate{op: spec.Op}
	if spec.Default != nil {
		q.absent = c.literal(at.Child("default"), spec.Default.Raw)
	}
	if spec.Value != nil {
		q.value = c.literal(at.Child("value"), spec.Value.Raw)
	}
	var from path.Path
	if spec.ValueFrom != "" {
		from, _ = c.parse(at.Child("valueFrom"), spec.ValueFrom)
	}
	c.operands(at, spec, &q)
	if !ok || len(c.errs) > known {
		return q, false
	}
	types := predicateTypes(&q, from)
	c.use(at.Child("path"), p, false, types...)
	c.lastUse().Optional = spec.Optional
	if from.Len() == 0 {
		c.lastUse().Values = q.constants()
	}
	if spec.Op == v1alpha1.OpExists || spec.Op == v1alpha1.OpNotExists {
		q.slot = d.Exists(p)
		return q, true
	}
	q.slot = d.Read(p)
	if from.Len() > 0 {
		q.from = d.Read(from)
		c.use(at.Child("valueFrom"), from, false, types...)
	}
	return q, true
}

// constants returns the values for which an Eq or In predicate with a constant holds; none for any other predicate.
func (p *predicate) constants() []string {
	switch p.op {
	case v1alpha1.OpEq:
		return []string{p.value}
	case v1alpha1.OpIn:
		var all []string
		for _, v := range p.list {
			all = append(all, string(v))
		}
		return all
	}
	return nil
}

// operands checks that an op has its operands.
func (c *compiler) operands(at *field.Path, spec v1alpha1.Predicate, q *predicate) {
	ops := []v1alpha1.PredicateOp{v1alpha1.OpExists, v1alpha1.OpNotExists, v1alpha1.OpEq, v1alpha1.OpNe,
		v1alpha1.OpLt, v1alpha1.OpLe, v1alpha1.OpGt, v1alpha1.OpGe, v1alpha1.OpIn}
	if !slices.Contains(ops, spec.Op) {
		c.errs = append(c.errs, field.NotSupported(at.Child("op"), spec.Op, ops))
		return
	}
	if spec.Op == v1alpha1.OpExists || spec.Op == v1alpha1.OpNotExists {
		if spec.Value != nil || spec.ValueFrom != "" || spec.Default != nil {
			c.invalid(at.Child("op"), spec.Op, "takes no value, valueFrom or default")
		}
		return
	}
	if (spec.Value != nil) == (spec.ValueFrom != "") {
		c.required(at.Child("value"), "exactly one of value and valueFrom")
		return
	}
	if spec.Value == nil {
		return
	}
	switch v := path.NewValue(q.value, ""); {
	case isNumeric(spec.Op) && v.Type() != path.Number:
		c.invalid(at.Child("value"), string(spec.Value.Raw), "%s compares numbers", spec.Op)
	case spec.Op == v1alpha1.OpIn && json.Unmarshal([]byte(q.value), &q.list) != nil:
		c.invalid(at.Child("value"), string(spec.Value.Raw), "In takes a list")
	}
}

func (c *compiler) literal(at *field.Path, raw []byte) string {
	if len(raw) > 0 && !json.Valid(raw) {
		c.invalid(at, string(raw), "is not JSON")
		return ""
	}
	value := compact(raw)
	if value == "" {
		c.invalid(at, "null", "null is no value: use Exists or NotExists")
	}
	return value
}

func isNumeric(op v1alpha1.PredicateOp) bool {
	return op == v1alpha1.OpLt || op == v1alpha1.OpLe || op == v1alpha1.OpGt || op == v1alpha1.OpGe
}

// predicateTypes returns the JSON types for which a comparison makes sense.
func predicateTypes(q *predicate, from path.Path) []path.Type {
	switch {
	case q.op == v1alpha1.OpExists || q.op == v1alpha1.OpNotExists:
		return nil
	case isNumeric(q.op):
		return []path.Type{path.Number}
	case from.Len() > 0:
		return nil
	}
	values := []json.RawMessage{json.RawMessage(q.value)}
	if q.op == v1alpha1.OpIn {
		values = q.list
	}
	var types []path.Type
	for _, v := range values {
		if t := path.NewValue(string(v), "").Type(); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return types
}
