"""Results as tables, pictures and files.

tables.py         drawn on a terminal, Markdown elsewhere
pictures.py       figures as SVG and PNG
results.py        typed results as JSON and back, with their provenance
cached_rows.py    the rows of a table, cached for each encoder
"""
