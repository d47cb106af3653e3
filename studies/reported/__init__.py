"""What a printed ± says of new images and new classes."""
