"""Run by alembic: migrate over the connection that the store hands in, in its transaction."""

from alembic import context

from grader.course.database.service_tables import Table

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Table.metadata,
    render_as_batch=True,  # SQLite alters a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
