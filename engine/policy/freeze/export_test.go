package freeze

// Candidates counts the rules that a decision looks at: what its cost grows with.
func (s *Set) Candidates(req Request) int {
	of := req.subject()
	return len(s.denies.find(&of, req.Now.Unix()))
}

// DenialText says who denies what, and why in at most so many bytes.
func DenialText(d Denial, why int) string { return denialText(&d, why) }
