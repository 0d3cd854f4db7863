package reconcile

import (
	"slices"

	"flyball.dev/flyball/engine/reconcile/gate"
)

// setGates sets the gates of a write, in the order of entering. A write is sent after the last gate, and leaves the gates in
// reverse.
func (l *Loop) setGates() {
	verdict := &gate.Verdict{Failing: l.obstacle.Failing, Queue: l.Add}
	finalizer := &gate.Finalizer{Protector: l.keeper}
	relatives := &gate.Relatives{World: l.world, Inflight: l.inflight}
	l.gates = slices.Concat(
		gate.Chain{
			verdict,    // the adapter is usable, and no relative must be written first
			l.freeze,   // no freeze refuses the change
			l.wave,     // the earlier waves have changed
			l.contest,  // no second writer keeps undoing the change, or the pause is over
			l.obstacle, // writes of the kind in the namespace do not fail or hang
		},
		l.opts.Gates, // a roll-out of tuned requests has its turn
		gate.Chain{
			l.batch,    // the batch of the policy has a place
			finalizer,  // the adapter stays until the original is restored
			l.inflight, // the write is recorded until the watch delivers the change
			relatives,  // autoscalers and scale target are as at the decision
		},
	)
	l.openings = gate.Chain{l.contest, finalizer, l.inflight} // an autoscaler is opened within the write of its target
}
