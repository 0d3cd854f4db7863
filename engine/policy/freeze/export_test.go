package freeze

// Candidates returns the number of rules examined by a decision, which determines its cost.
func (s *Set) Candidates(req UserChange) int {
	of := req.subject()
	return len(s.denies.Find(&of.Query, req.Now.Unix()))
}

// DenialText returns the policy, the denied actions and the reason. The reason takes at most why bytes.
func DenialText(d Denial, why int) string { return denialText(&d, why) }
