// Package limits protects the admission server: it limits the size, depth, time and number of reviews before they are
// parsed, and says which clients may connect. A review beyond the limits, or one that causes a panic, is refused and
// never admitted, whether the webhook fails closed or open.
package limits
