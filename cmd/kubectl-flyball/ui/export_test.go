package ui

// Computes reports whether an answer that may take long is being computed.
func (s *Server) Computes() bool { return len(s.computing) > 0 }
