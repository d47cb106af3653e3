"""The maintainers' side of the Hugging Face Hub: publishing releases."""
