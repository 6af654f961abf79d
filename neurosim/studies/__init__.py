"""Parameter studies: many experiments at once. Nothing is here yet."""
