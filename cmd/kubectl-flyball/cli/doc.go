// Package cli is the command line of kubectl flyball: the list of its verbs, each a package of its own, and the exit codes. Standard
// output has only the answer, errors say what to do, and the help of a verb has its exit codes.
//
// Decisions (docs/decisions): 0033.
package cli
