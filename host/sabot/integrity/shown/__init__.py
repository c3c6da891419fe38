"""How people see what the cards give away: words, pictures, the report, and a study beside the
screens."""
