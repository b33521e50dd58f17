static std::mt19937 generator(1);
<% if uniform %>

// A number between -0.5 and 0.5, in steps that the element type holds exactly.
static double uniform(int steps) { return double(generator() % (steps + 1)) / steps - 0.5; }
<% endif %>
<% if whole %>

static int whole(int low, int high) { return low + int(generator() % (high - low + 1)); }
<% endif %>
