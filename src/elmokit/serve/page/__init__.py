"""The explorer's page: plain ES modules, Canvas and SVG; no framework, no CDN, no build step.

index.html, style.css, main.js     the page
parts/       what views are made of: state, palette, scatter plot, concordance, downloads, data
views/       uses, expected words, two sentences, neighbours, side by side
bundle.py    the modules as one script, since a page opened from disk cannot import modules
document.py  one self-contained HTML file; in a notebook it shows itself
"""
