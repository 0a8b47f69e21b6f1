"""What every kind of test shares."""
