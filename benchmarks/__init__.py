"""Speed and memory, printed as figures one can compare; `make bench` runs them all."""
