"""Reports as text: tables for people, CSV and JSON for machines."""
