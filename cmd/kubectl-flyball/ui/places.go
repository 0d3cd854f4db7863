package ui

import "sync"

// places bounds the things of one kind in use at the same time, such as open event streams.
type places struct {
	// each is the largest number of one person, and all the largest number of all people together.
	each, all int

	mu    sync.Mutex
	taken map[string]int
	sum   int
}

// take takes a place for a person, and reports false if there is none.
func (p *places) take(person string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[person] >= p.each || p.sum >= p.all {
		return false
	}
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.taken[person]++
	p.sum++
	return true
}

// leave gives a place back.
func (p *places) leave(person string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum--
	if p.taken[person]--; p.taken[person] == 0 {
		delete(p.taken, person)
	}
}
