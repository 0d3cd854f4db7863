package adapters

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/scene"
)

// shiftCounts has the replicas of a press with three replicas, by its shift. The shift is a label, and each shift has a
// schedule. Both schedules have been asleep since dusk, so every claim on a press has the same instant.
var shiftCounts = map[string]int64{"": 3, "night": 0, "less": 2}

// halfway is a change of a count behind /scale that stops at one of its writes. It is made on several presses of a
// namespace.
type halfway struct {
	from, to string
	// through is true if the count is already written and only the mark in the ledger is left. Otherwise only the mark is
	// written.
	through bool

	kind      customkind.Kind
	namespace string
	// before has the presses as they were created. The name of a press says what happens to it.
	before []*unstructured.Unstructured
	lift   func()
}

// ends maps each press of a namespace to its shift at the time when the manager is started again.
var ends = map[string]string{"rests": "night", "slows": "less", "wakes": "", "scaled": ""}

func (h *halfway) String() string {
	return fmt.Sprintf("from %q to %q, /scale through: %t", h.from, h.to, h.through)
}

// begin creates the presses and their schedules.
func (h *halfway) begin(k customkind.Kind) {
	GinkgoHelper()
	h.kind, h.namespace = k, scene.NewNamespace()
	two := int64(2)
	levels := map[string]*v1alpha1.AsleepAs{"night": nil, "less": {Replicas: &two}}
	for shift, level := range levels {
		scene.NightlyOn(h.namespace, shift, v1alpha1.TargetSelector{
			Kinds: []v1alpha1.KindRef{k.Ref()}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"shift": shift}},
		}, func(r *v1alpha1.ScheduleRules) { r.AsleepAs = level })
	}
	for name := range ends {
		h.before = append(h.before, scene.Press(k, h.namespace, name, shiftCounts[""]))
		h.shift(name, h.from)
	}
}

// shift puts a press on a shift.
func (h *halfway) shift(name, shift string) {
	GinkgoHelper()
	scene.Patch(h.kind.Object(h.namespace, name, nil), scene.LabelPatch("shift", shift))
}

// settled waits until a press has the count of its shift and its ledger has no mark of an unfinished write.
func (h *halfway) settled(name, shift string) {
	GinkgoHelper()
	Eventually(scene.PressCount(h.kind, h.namespace, name, ".spec.replicas")).Should(Equal(shiftCounts[shift]), "%s of %s on shift %q", name,
		h,
		shift)
	if shift == "" {
		Eventually(scene.PressLedger(h.kind, h.namespace, name)).Should(BeEmpty(), "%s of %s", name, h)
		return
	}
	Eventually(func(g Gomega) map[string]any {
		var l map[string]map[string]any
		text := scene.PressLedger(h.kind, h.namespace, name)(g)
		_ = json.Unmarshal([]byte(text), &l) // "of" is no object
		return l["/spec/replicas"]
	}).Should(And(HaveKeyWithValue("was", BeEquivalentTo(3)), HaveKeyWithValue("set", BeEquivalentTo(shiftCounts[shift])),
		Not(HaveKey("pending"))),
		"%s of %s on shift %q", name, h, shift)
}

// stop makes the API server refuse the write at which the change is to stop, and begins the change.
func (h *halfway) stop() {
	GinkgoHelper()
	here := fmt.Sprintf("object.metadata.namespace == '%s'", h.namespace)
	rules := "{apiGroups: [" + h.kind.Group + "], apiVersions: [v1], operations: [UPDATE], resources: [%s]}"
	for name := range ends {
		h.shift(name, h.to) // nothing can be written before the manager runs
	}
	if !h.through {
		h.lift = scene.Deny(h.namespace, fmt.Sprintf(rules, "presses/scale"), here, "false", "/scale is closed",
			func() error { return h.scale("rests", 99, metav1.DryRunAll) })
		return
	}
	const marked = "'flyball.dev/ledger' in object.metadata.?annotations.orValue({}) && " +
		"object.metadata.annotations['flyball.dev/ledger'].contains('pending')"
	h.lift = scene.Deny(h.namespace, fmt.Sprintf(rules, "presses"), here, marked, "the mark stays", func() error {
		return scene.Env.Client.Patch(scene.Ctx, h.kind.Object(h.namespace, "rests", nil),
			client.RawPatch(types.MergePatchType, []byte(scene.AnnotationPatch("a", "b"))), client.DryRunAll)
	})
}

// scale sets the count of a press as kubectl scale does.
func (h *halfway) scale(name string, n int, dryRun ...string) error {
	return scene.Env.Client.SubResource("scale").Patch(scene.Ctx, h.kind.Object(h.namespace, name, nil),
		client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)),
		&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: dryRun}})
}

// stopped waits until every press is stuck between the two writes of its count: the ledger says pending.
func (h *halfway) stopped() {
	GinkgoHelper()
	at := h.from
	if h.through {
		at = h.to
	}
	for name := range ends {
		Eventually(scene.PressLedger(h.kind, h.namespace, name)).Should(ContainSubstring("pending"), "%s of %s", name, h)
		Eventually(scene.PressCount(h.kind, h.namespace, name, ".spec.replicas")).Should(Equal(shiftCounts[at]), "%s of %s", name, h)
	}
}

// returned checks every press after the manager was started again. In the end each press must be as it was created.
func (h *halfway) returned() {
	GinkgoHelper()
	for name, shift := range ends {
		if name != "scaled" {
			h.settled(name, shift)
		}
	}
	for name := range ends {
		h.shift(name, "")
	}
	for _, before := range h.before {
		name := before.GetName()
		if name == "scaled" {
			Eventually(scene.PressLedger(h.kind, h.namespace, name)).Should(BeEmpty(), "%s of %s", name, h)
			Expect(scene.PressCount(h.kind, h.namespace, name, ".spec.replicas")(Default)).To(BeEquivalentTo(7), "%s of %s", name, h)
			continue
		}
		h.settled(name, "")
		after := h.kind.Object(h.namespace, name, nil)
		Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(after), after)).To(Succeed())
		Expect(scene.AsOwned(after)).To(Equal(scene.AsOwned(before)), "%s of %s", name, h)
	}
}

var _ = Describe("A manager that stops between the two writes of a count behind /scale", func() {
	It("continues from there for any new claim, and takes no write of its own for a manual change", func() {
		night := scene.ManagerAtNight()
		k := scene.NewKind()
		k.Scale = true
		Expect(k.Install(scene.Ctx, scene.Env)).To(Succeed())
		a := k.Adapter(".spec.replicas")
		a.Spec.Scale[0].Via = v1alpha1.ViaScale
		scene.Adapt(a)
		var changes []*halfway
		for _, turn := range [][2]string{{"", "night"}, {"night", ""}, {"night", "less"}, {"less", ""}} {
			changes = append(changes, &halfway{from: turn[0], to: turn[1]}, &halfway{from: turn[0], to: turn[1], through: true})
		}
		for _, h := range changes {
			h.begin(k)
		}
		for _, h := range changes {
			for name := range ends {
				h.settled(name, h.from)
			}
		}

		night.Stop()
		for _, h := range changes {
			h.stop()
		}
		night.Start()
		for _, h := range changes {
			h.stopped()
		}
		night.Stop()
		for _, h := range changes {
			h.lift()
			for name, shift := range ends {
				h.shift(name, shift)
			}
			Expect(h.scale("scaled", 7)).To(Succeed())
		}
		night.Start()
		for _, h := range changes {
			h.returned()
		}
	})
})
