// Package samples tests that every file of the repository's samples directory does what its comment says. A comment ends with
// lines that say what to expect at which instant; the test applies all files to a real API server with kubectl, runs the real
// manager, moves its clock from instant to instant, and looks.
package samples
