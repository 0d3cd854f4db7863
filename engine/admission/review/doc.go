// Package review reads admission reviews and writes their answers. It limits the size, depth, time and number of reviews
// before they are parsed. A review beyond the limits, or one that causes a panic, is refused and never admitted, whether
// the webhook fails closed or open. Reviews of Flyball's own kinds are answered here: an invalid object is refused with the
// name of the field, and the removal of finalizers is always allowed (own_kinds.go).
//
// Decisions (docs/decisions): 0012, 0028.
package review
