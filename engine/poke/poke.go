// Package poke wakes whoever waits on a channel of one place.
package poke

// Poke puts something into a channel that has room. Where it has none, whoever reads it has not seen the last poke yet, and needs no other.
func Poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
