package suggest

const long = `Reads the usage of a workload and proposes a policy for it, as a manifest with the reasons in comments. The command learns from the
first part of the history and tries the result on the rest: the comments, and -o json, have the days and the outcome. It changes
nothing.`

const ending = `

The history comes from files (--usage), from a Prometheus server (--prometheus), or, without both, from the target's UsageCheckpoint of
a Tortoise. --help -o wide has the columns of files and the reasons to propose nothing.

Exit codes: 0 success, 1 an error, 2 the history proposes nothing.`

// reference is the text of --help -o wide.
const reference = `Files of comma-separated values have one of these heads, and may be compressed with gzip:

  minute,cores                 minutes of Unix time, and cores of all pods together
  time,cpu[,memory]            RFC 3339 or seconds of Unix time, and cores of all pods together
  time,container,replicas,cpu  samples of containers, as suggest requests reads them

suggest requests --help -o wide has the queries of Prometheus.

A minute without a reading has the reading before, for ten minutes or the usual distance of readings. Later minutes are unknown.

The command proposes nothing, with the reason in the error, for fewer than 21 whole days (14 to learn and 7 to try; with
--learn its number, and 2), if more than a tenth of either part is unknown, or if no proposal is worth it.
`

const longSchedule = `Proposes a Schedule that puts a workload to sleep in its unused hours: without a minute above --idle-below on all
teaching days, two of them at least. Consecutive hours are a window, which ends --lead before the first use.` + ending

const longTrigger = `Proposes a Trigger that sets the bounds of an autoscaler by the hour, for weekdays and for the weekend. The minimum of an hour serves
the peak of that hour on half of the teaching days, at the autoscaler's target utilisation. The maximum is the autoscaler's own, or
serves the largest demand of the hour times --headroom, if that is more; with --lower-max also if it is less. The back-test plays the
rest of the history through the autoscaler's rules, with the present and with the proposed bounds.` + ending
