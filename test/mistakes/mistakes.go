// Package mistakes lists typical mistakes in policies: fields and values of other tools, and typing errors. Tests
// compare how the API server, the webhook and the command line refuse them.
package mistakes

// Mistake is a spec that is refused.
type Mistake struct {
	Kind, Spec string
	// Field is the field that the answer names. Says is another text in the answer: the fault, or the text to write
	// instead.
	Field, Says string
}

const (
	form = "give exactly one form: days, months, weeks, dayOfMonth or nth with or without from and to"
	time = "write a time of the day as HH:MM, such as 08:00"
	date = "write a date as YYYY-MM-DD, such as 2026-12-24, and not "
	span = "write a length of time in the units w, d, h, m, s and ms, such as 1d12h, and not "
	pair = "upscale: 0 8 * * 1-5, downscale: 0 20 * * 1-5, "
	days = "startTime: '2026-12-24T00:00:00Z', endTime: '2026-12-27T00:00:00Z', "
	lone = "give exactly one of: downscale with or without upscale, asleep, awake"
)

// Mistakes are in the order of the fields.
var Mistakes = []Mistake{
	// These are fields of other tools, and typing errors in names of fields.
	{"Schedule", "{" + pair + "uptime: Mon-Fri 08:00-20:00}", "spec", "uptime"},
	{"Schedule", "{downtime: Mon-Fri 20:00-08:00}", "spec", "downtime"},
	{"Schedule", "{weekdays: 1-5, sleepAt: '20:00', wakeUpAt: '08:00'}", "spec", "sleepAt"},
	{"Schedule", "{" + pair + "timezone: Europe/Berlin}", "spec", "timezone"},
	{"Schedule", "{" + pair + "suspended: true}", "spec", "suspended"},
	{"Schedule", "{" + pair + "targets: {names: [web]}}", "spec", "targets"},
	{"Schedule", "{" + pair + "target: {name: web}}", "spec.target", "name"},
	{"Schedule", "{" + pair + "target: {namespaces: [shop]}}", "spec.target", "namespaces"},
	{"Schedule", "{" + pair + "target: {matchLabels: {a: b}}}", "spec.target", "matchLabels"},
	{"Schedule", "{" + pair + "replicas: 0}", "spec", "replicas"},
	{"Schedule", "{asleep: [{day: Mon}]}", "spec.asleep[0]", "day"},
	{"Schedule", "{asleep: [{days: [Mon], start: '20:00', stop: '08:00'}]}", "spec.asleep[0]", "stop"},
	{"Trigger", "{triggers: [{name: a, window: {from: '08:00', to: '10:00'}, during: {minReplicas: 3}}]}", "spec.triggers[0].during",
		"minReplicas"},
	{"Trigger", "{triggers: [{name: a, start: 0 8 * * *, end: 0 10 * * *, desiredReplicas: 3}]}", "spec.triggers[0]", "desiredReplicas"},
	{"ChangeFreeze", "{" + days + "block: [Scale]}", "spec", "block"},
	{"ChangeFreeze", "{" + days + "suspend: [{group: batch, kind: CronJob, namespaces: [shop]}]}", "spec.suspend[0]", "namespaces"},
	{"ChangeFreeze", "{" + days + "suspend: [{group: batch, kind: CronJob, matchLabels: {tier: report}}]}", "spec.suspend[0]", "matchLabels"},

	// These are fields that exclude each other, or that lack a part.
	{"Schedule", "{}", "spec", lone},
	{"Schedule", "{upscale: 0 8 * * 1-5}", "spec", "upscale needs downscale: write when the targets go to sleep"},
	{"Schedule", "{" + pair + "asleep: [{days: [Sat]}]}", "spec", lone},
	{"Schedule", "{asleep: [{days: [Sat]}], awake: [{days: [Sun]}]}", "spec", lone},
	{"Schedule", "{" + pair + "otherwise: Nothing}", "spec",
		"otherwise is for the time outside of windows: write asleep or awake, or leave it out"},
	{"Schedule", "{asleep: [{days: [Sat]}], otherwise: Asleep}", "spec", "is what the windows are already: write Nothing, or leave it out"},
	{"Schedule", "{asleep: [{name: nights}]}", "spec.asleep[0]", form},
	{"Schedule", "{asleep: [{days: [Mon], from: '20:00'}]}", "spec.asleep[0]", "from and to go together"},
	{"Schedule", "{asleep: [{cron: 0 20 * * *}]}", "spec.asleep[0]", "cron goes together with duration or until"},
	{"Schedule", "{asleep: [{cron: 0 20 * * *, duration: 1h, until: 0 8 * * *}]}", "spec.asleep[0]", "give duration or until, and not both"},
	{"Schedule", "{asleep: [{days: [Mon], cron: 0 20 * * *, duration: 1h}]}", "spec.asleep[0]", "write them into the cron, or leave cron out"},
	{"Schedule", "{asleep: [{start: '2026-12-24'}]}", "spec.asleep[0]", "start and end go together"},
	{"Schedule", "{asleep: [{days: [Mon], start: '2026-12-24', end: '2026-12-27'}]}", "spec.asleep[0]", "write validFrom and validUntil"},
	{"Schedule", "{asleep: [{weeks: {every: 2, starting: '2026-01-05'}, dayOfMonth: [1]}]}", "spec.asleep[0]", "leave one of them out"},
	{"Schedule", "{" + pair + "asleepAs: {}}", "spec.asleepAs", "give exactly one of replicas, percent, bounds, hold and annotations"},
	{"Schedule", "{" + pair + "asleepAs: {replicas: 1, percent: 50}}", "spec.asleepAs",
		"give exactly one of replicas, percent, bounds, hold and annotations"},
	{"Schedule", "{" + pair + "asleepAs: {bounds: {}}}", "spec.asleepAs.bounds", "give min, max or both"},
	{"Schedule", "{" + pair + "order: {waves: [{name: databases}]}}", "spec.order.waves[0]", "a wave needs kinds, names or selector"},
	{"Calendar", "{dates: [{name: Christmas}]}", "spec.dates[0]", "give either date, or start and end"},
	{"Calendar", "{dates: [{start: '2026-12-24'}]}", "spec.dates[0]", "start and end go together"},

	// These are missing values, and values of another type.
	{"Schedule", "{" + pair + "upscaleRateLimit: {batchSize: 5}}", "spec.upscaleRateLimit.delayBetweenBatches", "equired"},
	{"Schedule", "{" + pair + "target: {kinds: [{group: apps}]}}", "spec.target.kinds[0].kind", "equired"},
	{"Schedule", "{" + pair + "target: {kinds: [Deployment]}}", "spec.target.kinds[0]", "must be of type object"},
	{"Schedule", "{" + pair + "target: {names: web}}", "spec.target.names", "must be of type array"},
	{"ChangeFreeze", "{" + days + "suspend: [CronJob]}", "spec.suspend[0]", "must be of type object"},
	{"ChangeFreeze", "{" + days + "suspend: [{names: [mail]}]}", "spec.suspend[0].kind", "equired"},
	{"Schedule", "{" + pair + "priority: high}", "spec.priority", "must be of type integer"},
	{"Schedule", "{" + pair + "suspend: 'true'}", "spec.suspend", "must be of type boolean"},
	{"Schedule", "{asleep: {days: [Mon]}}", "spec.asleep", ""},

	// These are values without a meaning.
	{"Schedule", "{asleep: [{days: [Monday]}]}", "spec.asleep[0].days[0]", `Unsupported value: "Monday": supported values: `},
	{"Schedule", "{asleep: [{days: [mon]}]}", "spec.asleep[0].days[0]", `Unsupported value: "mon": supported values: `},
	{"Schedule", "{asleep: [{from: 8pm, to: 8am}]}", "spec.asleep[0].from", time + ", and not 8pm"},
	{"Schedule", "{asleep: [{from: '8:00', to: '10:00'}]}", "spec.asleep[0].from", time + ", and not 8:00"},
	{"Schedule", "{asleep: [{from: '08:00', to: '25:00'}]}", "spec.asleep[0].to", time + ", or 24:00, and not 25:00"},
	{"Schedule", "{asleep: [{cron: 0 20 * * *, duration: 12 hours}]}", "spec.asleep[0].duration", span + "12 hours"},
	{"Schedule", "{asleep: [{cron: 0 20 * * *, duration: PT12H}]}", "spec.asleep[0].duration", span + "PT12H"},
	{"Schedule", "{asleep: [{weeks: {every: 2, starting: 5.1.2026}}]}", "spec.asleep[0].weeks.starting", date + "5.1.2026"},
	{"Schedule", "{asleep: [{months: [13]}]}", "spec.asleep[0].months[0]", "less than or equal to 12"},
	{"Schedule", "{asleep: [{dayOfMonth: [0]}]}", "spec.asleep[0].dayOfMonth[0]", "-1 is the last day"},
	{"Schedule", "{" + pair + "asleepAs: {percent: 120}}", "spec.asleepAs.percent", "less than or equal to 100"},
	{"Schedule", "{" + pair + "asleepAs: {bounds: {min: 3, max: 2}}}", "spec.asleepAs.bounds", "must not be above max"},
	{"Schedule", "{" + pair + "onManualChange: Ignore}", "spec.onManualChange", `Unsupported value: "Ignore": supported values: `},
	{"Schedule", "{" + pair + "deletionPolicy: Delete}", "spec.deletionPolicy", `Unsupported value: "Delete": supported values: `},
	{"Schedule", "{" + pair + "order: {waves: [{names: [db], waitFor: Healthy}]}}", "spec.order.waves[0].waitFor",
		`Unsupported value: "Healthy": supported values: `},
	{"Schedule", "{" + pair + "order: {waves: [{names: [db], timeout: 10 minutes}]}}", "spec.order.waves[0].timeout", span + "10 minutes"},
	{"ChangeFreeze", "{" + days + "letFinish: 30 minutes}", "spec.letFinish", span + "30 minutes"},
	{"Schedule", "{" + pair + "timeZone: CEST}", "spec.timeZone", "CEST"},
	{"Schedule", "{upscale: 0 8 * * 1-5, downscale: 0 20 * *}", "spec.downscale", "0 20 * *"},
	{"Schedule", "{upscale: 0 8 * * 1-5, downscale: '@every 12h'}", "spec.downscale", "@every"},
	{"Schedule", "{upscale: 0 20 * * *, downscale: 0 20 * * *}", "spec.upscale", "write another time"},
	{"Calendar", "{dates: [{date: 24.12.2026}]}", "spec.dates[0].date", date + "24.12.2026"},
	{"ClusterSchedule", "{" + pair + "target: {kinds: [{group: apps, kind: Deployment}]}}", "spec.target", "namespace"},
}
