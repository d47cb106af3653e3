"""Whether a method recognises single images: predictions against chance."""
