"""All SQL. Functions take a session first and return objects; the caller owns the transaction."""
