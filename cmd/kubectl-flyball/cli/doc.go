// Package cli is the command line of kubectl flyball, with one verb per file. A verb parses its flags, loads a world,
// gets the answer from the package for its task, and prints the answer. Standard output has only the answer, errors say
// what to do, and exit codes are documented in the verb's help.
//
// Decisions (docs/decisions): 0033.
package cli
