"""One range judged: a line enters, its record leaves."""
