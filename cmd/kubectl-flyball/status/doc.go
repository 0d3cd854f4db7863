// Package status is the verb status. It lists every policy of a world with its state, the start and end of the state, its targets,
// and its problems; or the objects that policies act on or judge, each with its state under each policy. The policy's own code computes
// the state. The states of targets come from the status that the manager writes, or are decided here if no manager runs.
package status
