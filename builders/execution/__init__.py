"""Where work runs (this process, several, Ray), and the files it shares."""
