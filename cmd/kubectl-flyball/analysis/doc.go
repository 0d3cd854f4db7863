// Package analysis recommends the scaling of a workload (Subject) from its past usage. Samples come from files (CSV or JSON lines) or
// from a Prometheus server, in order of time. Errors name the file and the line, or the query.
//
// A History finds the unused hours of a workload, and the need of each hour of the week. It learns from its first part, tries the result
// on the rest, and refuses a history with too little data. The trial evaluates the windows' timeline, so it is right also on days
// with clock changes.
//
// Replay computes the numbers that a Tortoise would have reached if it had tuned the workload since the first sample. It runs the
// manager's own packages over the samples, minute by minute, as in mode Auto: requests move by steps, and their final values are
// recommended.
package analysis
