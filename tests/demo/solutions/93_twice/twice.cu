// The demo lab is graded on CPUs alone.
