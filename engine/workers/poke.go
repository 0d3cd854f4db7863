package workers

// Poke sends to a channel if there is room. In a full channel the last poke has not been read yet, so another
// is not needed.
func Poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
