"""From planned IR to text: expressions, statements through templates, and the frame of the file."""
