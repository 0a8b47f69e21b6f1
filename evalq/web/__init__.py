"""The web side: what a browser or a program asks for over HTTP."""
