package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
)

func TestDurationKeepsItsText(t *testing.T) {
	type holder struct {
		D v1alpha1.Duration `json:"d,omitempty"`
	}
	for _, test := range []struct{ in, text, out string }{
		{`{"d":"1d12h"}`, "1d12h", `{"d":"1d12h"}`},
		{`{"d":"forever"}`, "forever", `{"d":"forever"}`},
		{`{"d":"caf\u00e9"}`, "café", `{"d":"café"}`},
		{`{"d":5}`, "5", `{"d":"5"}`},
		{`{"d":true}`, "true", `{"d":"true"}`},
		{`{"d":{"h":1}}`, `{"h":1}`, `{"d":"{\"h\":1}"}`},
		{`{"d":["1h"]}`, `["1h"]`, `{"d":"[\"1h\"]"}`},
		{`{"d":null}`, "", `{}`},
		{`{"d":""}`, "", `{}`},
		{`{}`, "", `{}`},
	} {
		var h holder
		if err := json.Unmarshal([]byte(test.in), &h); err != nil || string(h.D) != test.text {
			t.Errorf("%s: got %q, %v, want %q", test.in, h.D, err, test.text)
		}
		if out, err := json.Marshal(h); err != nil || string(out) != test.out {
			t.Errorf("%s: encoded as %s, %v, want %s", test.in, out, err, test.out)
		}
	}
}
