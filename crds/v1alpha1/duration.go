package v1alpha1

import "encoding/json"

// Duration is a length of time as text: numbers with the units w, d, h, m, s and ms, for example 1d12h. A day is 24 hours and a
// week 7 days of elapsed time. The text is read where a policy is compiled, so that one that cannot be read is a fault of that
// policy alone: a list of objects that does not decode would take all policies of the kind out of use.
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]+)?(w|d|h|m|s|ms))+$`
type Duration string

// UnmarshalJSON keeps what it is given. What is no string becomes its JSON, which is no duration either.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil {
		*d = Duration(raw)
		return nil //nolint:nilerr // what is no text is kept as it is, and refused where it is read
	}
	if text != nil {
		*d = Duration(*text)
	}
	return nil
}
