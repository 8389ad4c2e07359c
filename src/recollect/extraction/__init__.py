"""Reading memories out of messages: by a model or by rules, and never without the words that say so."""
