"""Commands that print the numbers a reader could doubt."""
