package freeze

// Candidates counts the rules that a decision looks at: what its cost grows with.
func (s *Set) Candidates(req Request) int {
	of := req.subject()
	return len(s.denies.find(&of, req.Now.Unix()))
}
