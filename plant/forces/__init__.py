"""What force elements and penalties apply."""
