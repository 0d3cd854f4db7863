// Package freeze judges changes against change freezes, maintenance windows and exceptions. The verdict is the same for all callers
// (webhook, command line, API) and does not depend on the order in which policies were created.
//
// It collects the active denials. An exception lifts an action only if its target, its time and all its constraints hold for the
// object before and after the change; the other denials stand. An edit of labels that takes an object out of a policy can be denied
// as well. A refusal names the next allowed instant over all policies together. A namespaced policy applies only in its own
// namespace, and a namespaced exception never lifts a cluster policy. Intervals are half-open and exact to the second.
//
// Policies are indexed by kind, namespace and name or label, so the cost of a verdict does not grow with their number. The package
// is pure: it uses no client and no clock.
//
// Decisions (docs/decisions): 0023, 0054.
package freeze
