package workload

import (
	"encoding/json"
	"slices"
	"time"
)

// Once is a claim for a single write of a field, left to foreign writers afterwards.
type Once struct {
	// By is the policy (Policy.String).
	By string `json:"by"`
	// Since is the start of the claim.
	Since time.Time `json:"since,omitzero"`
	// Asked is the JSON text of the claimed value.
	Asked string `json:"asked"`
}

// maxInterrupted is the number of claims that an entry keeps beside its own; the oldest is dropped first.
const maxInterrupted = 8

// claim returns the entry's claim that set the field once; false: the field holds a lasting value.
func (e *Entry) claim() (Once, bool) {
	return Once{By: e.By, Since: e.Since.UTC(), Asked: e.Once}, e.Once != ""
}

// interrupted returns the claims applied to the field before other claims interrupted them. An unreadable text
// counts as empty.
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

// honours reports whether a field set for o needs no write for c: the policy and the value are equal, and the
// transition of c is not later.
func (o Once) honours(c Once) bool {
	return o.By == c.By && o.Asked == c.Asked && !c.Since.After(o.Since)
}

// WasSet reports whether the field has been set for a claim before, even if other claims have set it since.
func (e *Entry) WasSet(c Once) bool {
	if own, ok := e.claim(); ok && own.honours(c) {
		return true
	}
	return slices.ContainsFunc(e.interrupted(), func(o Once) bool { return o.honours(c) })
}

// HandOnce returns the entry of a field that the claim c takes over. The list keeps the former claim, unless its policy
// is the policy of c, or its write was lost (through is false).
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
		if err == nil { // texts and times can always be encoded
			e.Interrupted = string(text)
		}
	}
	return e
}
