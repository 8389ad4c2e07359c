"""Hold windows of conversations, in the process or in a Redis that several servers share."""
