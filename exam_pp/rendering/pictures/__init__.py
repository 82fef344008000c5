"""Pictures in HTML reports, as inline SVG in the colours of the page."""
