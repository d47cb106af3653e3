"""The ten methods beside their authors' released code."""
