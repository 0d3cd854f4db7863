// Package reconcile joins everything: it gathers what is observed, lets every policy that selects a target decide, merges,
// renders one patch, applies it and records what came of it. The unit of work is the target, never the policy: whatever
// happens (an object, a namespace, a policy, an adapter changes; an instant comes) ends in some targets being judged again,
// from nothing but the clock, the specs and what is observed. It decides nothing itself.
package reconcile
