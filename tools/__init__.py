"""Tools of the project itself: the generated reference, and the pictures of the README."""
