// Package gate protects the admission server. A request without the secret part of the path is not read, stored or
// logged. The size, depth, time and number of reviews are limited before parsing. A review beyond the limits, or one
// that causes a panic, is refused and never admitted, whether the webhook fails closed or open.
package gate
