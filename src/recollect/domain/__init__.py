"""What things are and the rules they obey: no I/O, no clock, no await."""
