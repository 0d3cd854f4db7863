package path_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/path"
)

// A quoted text is the JSON string of that text, as encoding/json reads it.
func TestQuoteIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.StringMatching(`["\\\\\n\x00a]*`)).Draw(t, "text")
		var back string
		if err := json.Unmarshal([]byte(path.Quote(text)), &back); err != nil || back != text {
			t.Fatalf("%q is quoted as %s, which is read as %q, %v", text, path.Quote(text), back, err)
		}
	})
}
