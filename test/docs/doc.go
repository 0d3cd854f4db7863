// Package docs runs what the documents tell people to type. Every command block of every page runs in its order against a local
// control plane with the manager, and prints what the page shows. What cannot run here is listed with its reason.
package docs
