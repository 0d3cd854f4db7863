// Package cli is the command line of kubectl flyball: one verb a file. A verb reads its flags, has a world loaded, has the answer
// computed by the package of its subject, and prints it. It promises that standard output has nothing but the answer, that errors
// say what to do, and that exit codes are those of the verb's help.
package cli
