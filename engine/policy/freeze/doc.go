// Package freeze judges changes against change freezes, maintenance windows and exceptions. It promises one verdict for one
// request, whoever asks (webhook, command line, API) and in whatever order policies came: active denies are collected, an
// exception takes an action off a deny only if its target, time and every constraint hold on the object before and after
// the change, and what is left denies. It gives the true next allowed instant over all policies together, and asks in
// bounded time however many policies there are, since they are indexed by kind, namespace and name or label. A namespaced
// policy acts in its own namespace only, and a namespaced exception never lifts a cluster policy. Intervals are half-open
// and exact to the second. The package is pure: no client, no clock.
package freeze
