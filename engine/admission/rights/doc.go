// Package rights checks that the author of an Adapter or a policy holds the rights that the object makes Flyball use.
package rights
