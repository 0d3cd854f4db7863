package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:validation:XValidation:rule="has(self.date) != (has(self.start) || has(self.end))",message="give either date, or start and end"
// +kubebuilder:validation:XValidation:rule="has(self.start) == has(self.end)",message="start and end go together"

// CalendarDate is one date, or a range of dates with both ends included, as YYYY-MM-DD.
type CalendarDate struct {
	// Date is a single day.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}$')",message="write a date as YYYY-MM-DD, such as 2026-12-24",messageExpression="'write a date as YYYY-MM-DD, such as 2026-12-24, and not ' + self"
	Date string `json:"date,omitempty"`
	// Start is the first day.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}$')",message="write a date as YYYY-MM-DD, such as 2026-12-24",messageExpression="'write a date as YYYY-MM-DD, such as 2026-12-24, and not ' + self"
	Start string `json:"start,omitempty"`
	// End is the last day.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}$')",message="write a date as YYYY-MM-DD, such as 2026-12-24",messageExpression="'write a date as YYYY-MM-DD, such as 2026-12-24, and not ' + self"
	End string `json:"end,omitempty"`
	// Name is used in messages.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
}

// CalendarDay is a day of the year.
type CalendarDay struct {
	// Month, 1 to 12.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=12
	Month int32 `json:"month"`
	// Day of the month, 1 to 31.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31
	Day int32 `json:"day"`
}

// +kubebuilder:validation:Enum=Monday;FridayOrMonday;MondayOrTuesday

// InLieu is the replacement of a day that falls on a weekend.
type InLieu string

const (
	// InLieuMonday moves a day that falls on a Saturday or Sunday to the Monday after.
	InLieuMonday InLieu = "Monday"
	// InLieuFridayOrMonday moves a day to the nearest working day: from Saturday to the Friday before, from Sunday to Monday.
	InLieuFridayOrMonday InLieu = "FridayOrMonday"
	// InLieuMondayOrTuesday moves each of two days in a row, so that both are free: from Saturday to Monday, from Sunday to Tuesday.
	InLieuMondayOrTuesday InLieu = "MondayOrTuesday"
)

// +kubebuilder:validation:ExactlyOneOf=month;easter;orthodoxEaster
// +kubebuilder:validation:XValidation:rule="!has(self.month) || has(self.day) != has(self.nth)",message="month goes with day or with nth"
// +kubebuilder:validation:XValidation:rule="has(self.month) || !(has(self.day) || has(self.nth))",message="day and nth need month"
// +kubebuilder:validation:XValidation:rule="!has(self.until) || has(self.day)",message="until is the last day of a range that begins with month and day"
// +kubebuilder:validation:XValidation:rule="!has(self.inLieu) || !(has(self.until) || has(self.nth))",message="inLieu moves a single date: leave it out of a range, and where nth gives the weekday"

// CalendarYearly is a day that comes every year: a date, the first day of a range, a weekday by its place in the month, or a
// distance from Easter. 29 February comes in leap years only.
type CalendarYearly struct {
	// Month, 1 to 12.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=12
	Month int32 `json:"month,omitempty"`
	// Day of the month, 1 to 31.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31
	Day int32 `json:"day,omitempty"`
	// Until is the last day of a range that begins with month and day. It may be in the next year.
	// +optional
	Until *CalendarDay `json:"until,omitempty"`
	// Nth is a weekday of the month by its place, such as {week: -1, day: Mon}.
	// +optional
	Nth *NthDay `json:"nth,omitempty"`
	// Easter counts days from Easter Sunday, as churches of the West have it: -2 is Good Friday, 1 Easter Monday, 39 Ascension Day.
	// +optional
	// +kubebuilder:validation:Minimum=-60
	// +kubebuilder:validation:Maximum=60
	Easter *int32 `json:"easter,omitempty"`
	// OrthodoxEaster counts days from Easter Sunday, as Orthodox churches have it.
	// +optional
	// +kubebuilder:validation:Minimum=-60
	// +kubebuilder:validation:Maximum=60
	OrthodoxEaster *int32 `json:"orthodoxEaster,omitempty"`
	// InLieu moves a date that falls on a Saturday or Sunday: Monday to the Monday after, FridayOrMonday to the nearest working day,
	// and MondayOrTuesday, for each of two days in a row, from Saturday to Monday and from Sunday to Tuesday.
	// +optional
	InLieu InLieu `json:"inLieu,omitempty"`
	// Name is used in messages.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="!(has(self.only) && has(self.except))",message="give only or except, and not both: the names that count, or those that do not"

// CalendarHolidays are the public holidays of a country, by the rules of the library github.com/rickar/cal. They are known from
// 1970 to 2199.
type CalendarHolidays struct {
	// Country is a code of ISO 3166-1, such as DE.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=2
	Country string `json:"country"`
	// Subdivisions are the second parts of codes of ISO 3166-2, such as BY for DE-BY. Default: the holidays of the whole country.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=8
	// +listType=set
	Subdivisions []string `json:"subdivisions,omitempty"`
	// Only takes the holidays of these names, as the country writes them.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	Only []string `json:"only,omitempty"`
	// Except leaves out the holidays of these names.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	Except []string `json:"except,omitempty"`
}

// ConfigMapKey names one key of a ConfigMap.
type ConfigMapKey struct {
	// Namespace of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key of its data.
	// +optional
	// +kubebuilder:default=calendar.ics
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.inline) != has(self.configMap)",message="give inline or configMap, and not both"

// CalendarICS is a calendar file of RFC 5545.
type CalendarICS struct {
	// Inline is the file itself.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262144
	Inline string `json:"inline,omitempty"`
	// ConfigMap has the file. The manager looks at it once a minute, and needs the right to get it.
	// +optional
	ConfigMap *ConfigMapKey `json:"configMap,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.dates) || has(self.yearly) || has(self.holidays) || has(self.ics) || has(self.include)",message="give dates, yearly, holidays, ics, include or several of them"

// CalendarSpec is a set of days in a time zone, and of events.
type CalendarSpec struct {
	// TimeZone is an IANA name. Default: UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Dates lists single dates and ranges.
	// +optional
	// +kubebuilder:validation:MaxItems=512
	// +listType=atomic
	Dates []CalendarDate `json:"dates,omitempty"`
	// Yearly lists days that come every year.
	// +optional
	// +kubebuilder:validation:MaxItems=366
	// +listType=atomic
	Yearly []CalendarYearly `json:"yearly,omitempty"`
	// Holidays are the public holidays of a country.
	// +optional
	Holidays *CalendarHolidays `json:"holidays,omitempty"`
	// ICS is a calendar file, of which all events count.
	// +optional
	ICS *CalendarICS `json:"ics,omitempty"`
	// Include names other Calendars, of which all days and events count.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	Include []string `json:"include,omitempty"`
}

// CalendarComing is a day of a calendar, or several days in a row, to come.
type CalendarComing struct {
	// Date is the day, or the first of several, as YYYY-MM-DD in the calendar's time zone.
	Date string `json:"date"`
	// Until is the last of several days.
	// +optional
	Until string `json:"until,omitempty"`
	// Name of the day or the event.
	// +optional
	Name string `json:"name,omitempty"`
}

// CalendarStatus reports whether a calendar is valid and in use.
type CalendarStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions follow the Kubernetes API conventions.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('0001-01-01T00:00:00Z'))",message="lastTransitionTime must be an RFC 3339 instant"
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Coming lists the calendar's days and events in the next 400 days, today included. Days in a row with the same name
	// are one entry. The list ends after 100 entries.
	// +optional
	// +listType=atomic
	Coming []CalendarComing `json:"coming,omitempty"`
	// UsedBy is the number of policies that name the calendar.
	// +optional
	UsedBy int32 `json:"usedBy,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fcal,categories=flyball
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.spec.timeZone`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Used By",type=integer,JSONPath=`.status.usedBy`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Calendar is a set of days and events, such as public holidays, that policies refer to by name.
type Calendar struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec CalendarSpec `json:"spec"`
	// +optional
	Status CalendarStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// CalendarList is a list of Calendars.
type CalendarList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Calendar `json:"items"`
}
