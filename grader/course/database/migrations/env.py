"""Run by alembic: migrate over the connection that the store hands in, in its transaction."""

from alembic import context

# Imported, so that the metadata knows their tables.
import grader.course.database.likeness_tables  # pyright: ignore[reportUnusedImport]
import grader.course.database.reading_tables  # pyright: ignore[reportUnusedImport]
import grader.course.database.roster_tables  # noqa: F401 # pyright: ignore[reportUnusedImport]
from grader.course.database.giving.tables import Table

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Table.metadata,
    render_as_batch=True,  # SQLite alters a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
