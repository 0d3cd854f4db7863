// Package samples tests that every file in the repository's samples directory does what its comment promises. A comment
// ends with the expectations per instant. The test applies all files to a real API server with kubectl, runs the real
// manager, moves its clock from instant to instant, and checks the expectations.
package samples
