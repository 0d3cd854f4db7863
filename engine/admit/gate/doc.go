// Package gate is the door of the admission server: who gets in, with how much, and how they are answered if not. It promises that
// who does not know the secret part of the path gets nothing read, kept or logged; that size, depth, time and number of reviews
// are bounded before anything is parsed; and that what is beyond the bounds, or meets a fault, is refused and never lets a change
// through, whether the webhook fails closed or open.
package gate
