package v1alpha1

import "encoding/json"

// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(w|d|h|m|s|ms))+$')",message="write a length of time in the units w, d, h, m, s and ms, such as 1d12h",messageExpression="'write a length of time in the units w, d, h, m, s and ms, such as 1d12h, and not ' + self"

// Duration is a length of time as text: numbers with the units w, d, h, m, s and ms, for example 1d12h. A day is 24
// hours and a week 7 days of elapsed time. The text is parsed when a policy is compiled, so that an invalid text
// affects only this policy: a decoding error would make all policies of the kind unreadable.
type Duration string

// UnmarshalJSON keeps any value. A value other than a string becomes its JSON text, which is not a valid duration.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil {
		*d = Duration(raw)
		return nil //nolint:nilerr // a value other than text is kept and refused when it is parsed
	}
	if text != nil {
		*d = Duration(*text)
	}
	return nil
}
