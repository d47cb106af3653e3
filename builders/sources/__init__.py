"""Sources of images: one file a data set."""
