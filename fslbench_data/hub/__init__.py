"""The client's side of the Hugging Face Hub; its packages are imported when they are needed."""
