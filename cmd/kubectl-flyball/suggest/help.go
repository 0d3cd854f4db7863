package suggest

const long = `Reads what a workload used and proposes a policy for it, as a manifest that can be applied, with the reasons in comments. The first part of
the history teaches, and the rest tries the result: the comments, and -o json, say on which days and what came of it. Nothing is changed.`

const sources = `

The history is that of files (--usage), of a Prometheus server (--prometheus; recommend --help has its queries), or, without both, that of the
target's UsageCheckpoint: what a Tortoise has learnt. Files of comma-separated values have one of these heads, and may be compressed with gzip:

  minute,cores                 minutes of Unix time, and cores of all pods together
  time,cpu[,memory]            RFC 3339 or seconds of Unix time, and cores of all pods together
  time,container,replicas,cpu  samples of containers, as recommend reads them

A minute without a reading has the one before, for ten minutes or for as long as readings are usually apart. After that nothing is known.

There is no proposal, and the error says why, where fewer than 21 whole days are known (14 that teach and 7 that try; with
--learn as many as it says, and 2), where more
than a tenth of the days that teach, or of those that try, is not known, or where nothing is worth proposing.

Exit codes: 0 success, 1 an error, 2 the history proposes nothing.`

const longSchedule = `Proposes a Schedule that has a workload sleep in windows in which nobody uses it. A minute counts as used above --idle-below. An hour of the
week is idle if nobody used the workload in it on any of the days that teach, each seen twice at least. Idle hours that follow one another are a
window; it ends --lead before the first use.` + sources

const longTrigger = `Proposes a Trigger that sets the bounds of an autoscaler by the hour, for weekdays and for the weekend. The minimum of an hour serves what the
workload needed at the peak of that hour on half of the days that teach, at the autoscaler's target utilisation. The maximum is the
autoscaler's own, or what serves the largest demand of the hour times --headroom, if that is more; with --lower-max also if it is less. The
back-test plays the rest of the history through the autoscaler's rules, with its own bounds and with those proposed.` + sources
