"""The names users' code is written against: change one import line."""
