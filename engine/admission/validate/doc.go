// Package validate answers reviews of Flyball's own kinds. It refuses invalid objects with the name of the field, and
// always allows the removal of finalizers.
package validate
