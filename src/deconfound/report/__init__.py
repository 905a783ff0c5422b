"""Every form in which a result is shown or saved: text, page, JSON, figures, files."""
