// A place in a grid.
struct Place { int x, y; };
