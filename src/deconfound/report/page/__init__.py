"""The report page: geometry of its pictures, data of its explorer, and the templates that write both."""
