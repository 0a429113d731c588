"""FILES -> SENTENCES -> FILES OF VECTORS: what ``elmokit embed`` reads and writes."""
