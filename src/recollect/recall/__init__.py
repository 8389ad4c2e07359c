"""Find, among what a user said and what is known of them, what a question asks for; pure, without I/O or clock."""
