package reconcile

import (
	"slices"

	"flyball.dev/flyball/engine/reconcile/gate"
)

// setGates sets the gates that a write enters one after another. It is sent once it has entered all, and leaves them in
// reverse.
func (l *Loop) setGates() {
	verdict := &gate.Verdict{Failing: l.obstacle.Failing, Queue: l.Add}
	finalizer := &gate.Finalizer{Keeper: l.keeper}
	relatives := &gate.Relatives{World: l.world, Inflight: l.inflight}
	l.gates = slices.Concat(
		gate.Chain{
			verdict,    // its adapter is usable, and no other object must be written first
			l.freeze,   // no freeze refuses it
			l.wave,     // the waves before its own have changed
			l.contest,  // no other writer keeps undoing it, or the pause is over
			l.obstacle, // writes of its kind in its namespace do not fail or hang
		},
		l.opts.Gates, // a roll-out of tuned requests has its turn
		gate.Chain{
			l.batch,    // its policy's batch has a place
			finalizer,  // its adapter stays until the original is restored
			l.inflight, // it is recorded until its watch delivers it
			relatives,  // its autoscalers and its scale target are as the decision knew them
		},
	)
	l.openings = gate.Chain{l.contest, finalizer, l.inflight} // an autoscaler is opened within the write of its target
}
