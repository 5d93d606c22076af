"""How each format is read: one reader a format, each giving rows piece by piece."""
