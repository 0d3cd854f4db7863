// Package freeze judges changes against change freezes, maintenance windows and exceptions. It gives the same verdict to
// everybody who asks (webhook, command line, API), and the order in which policies were made does not matter. It collects the
// active denies. An exception takes an action off a deny only if its target, its time and all its constraints hold for the
// object before and after the change. The rest of the denies stand. An edit of labels by which an object leaves a policy can be
// denied as well. A refusal says the next allowed instant over all policies together. Policies are indexed by kind, namespace and
// name or label, so the cost of a verdict does not grow with their number. A namespaced policy acts in its own namespace only,
// and a namespaced exception never lifts a cluster policy. Intervals are half-open and exact to the second. The package is pure:
// it uses no client and no clock.
package freeze
