package ui

import (
	"fmt"
	"net/http"
	"time"
)

// maxStreams is the largest number of event streams open at the same time. A browser opens one stream for each
// tab.
const maxStreams = 32

// lookEvery is the interval at which a stream checks for a new world. writeWithin is the time within which a client
// must receive an event.
const lookEvery, writeWithin = 30 * time.Second, 10 * time.Second

// events sends an event to a page when the content of the page has changed. This is the case when the world has
// changed, and each minute, because the pages show the present time.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if !s.streams.take(s.person) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "Too many pages are open already: this one does not follow changes.", http.StatusServiceUnavailable)
		return
	}
	defer s.streams.leave(s.person)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // the server's deadline for requests would end the stream
	for last := ""; ; {
		_, now, err := s.current(r.Context())
		if err != nil {
			now = "unread" // the reloaded page shows the error
		}
		now += s.Now().UTC().Format("-150405")[:5]
		if now != last {
			_ = out.SetWriteDeadline(time.Now().Add(writeWithin))
			if _, err := fmt.Fprintf(w, "event: version\ndata: %s\n\n", now); err != nil || out.Flush() != nil {
				return
			}
			_ = out.SetWriteDeadline(time.Time{}) // with HTTP/2 it would end the stream also while nothing is written
			last = now
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.dropped:
			return
		case <-time.After(lookEvery):
		}
	}
}
