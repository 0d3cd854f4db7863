// Package freeze refuses a change of an adapted kind while a freeze denies it, and guards the freezes themselves against
// users without the right to override them.
package freeze
