package workload

import (
	"encoding/json"
	"slices"
	"time"
)

// Once is a claim that sets a field once and then leaves it to others.
type Once struct {
	// By is the policy (Policy.String).
	By string `json:"by"`
	// Since is the instant from which it is made.
	Since time.Time `json:"since,omitzero"`
	// Asked is the JSON text of the value asked for.
	Asked string `json:"asked"`
}

// maxInterrupted is how many claims an entry remembers beside its own; the oldest is forgotten first.
const maxInterrupted = 8

// claim is what an entry's field was set once for; false where it holds a value that lasts.
func (e *Entry) claim() (Once, bool) {
	return Once{By: e.By, Since: e.Since.UTC(), Asked: e.Once}, e.Once != ""
}

// interrupted are the claims that the field was set for before others came in between. A text that somebody has spoilt
// remembers nothing.
func (e *Entry) interrupted() []Once {
	if e.Interrupted == "" {
		return nil
	}
	var all []Once
	if json.Unmarshal([]byte(e.Interrupted), &all) != nil {
		return nil
	}
	return all
}

// honours says whether a field that was set for o needs no setting for c: the same policy asks for the same value, of the
// same transition or an earlier one.
func (o Once) honours(c Once) bool {
	return o.By == c.By && o.Asked == c.Asked && !c.Since.After(o.Since)
}

// WasSet says whether the field has been set for a claim already, whatever it was set for since.
func (e *Entry) WasSet(c Once) bool {
	if own, ok := e.claim(); ok && own.honours(c) {
		return true
	}
	return slices.ContainsFunc(e.interrupted(), func(o Once) bool { return o.honours(c) })
}

// HandOnce is the entry of a field that is another claim's from now on. The claim before it is remembered, unless it was
// the same policy's or its own write never came through.
func (e Entry) HandOnce(c Once, through bool) Entry {
	all := e.interrupted()
	if own, ok := e.claim(); ok && (through || own.By == c.By) {
		all = append(all, own)
	}
	all = slices.DeleteFunc(all, func(o Once) bool {
		if o.honours(c) {
			c.Since = o.Since
		}
		return o.By == c.By
	})
	all = all[max(0, len(all)-maxInterrupted):]
	e.By, e.Since, e.Once, e.Interrupted = c.By, c.Since, c.Asked, ""
	if len(all) > 0 {
		text, err := json.Marshal(all)
		if err == nil { // texts and times: it always is
			e.Interrupted = string(text)
		}
	}
	return e
}
