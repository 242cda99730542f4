"""What a comparison of answers found as a whole, and what people decided about it."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

WORDS = ("lab", "members", "about", "state", "author", "text")


def upgrade() -> None:
    """Make the tables; notes are guarded as overrides are."""
    op.create_table(
        "comparisons",
        sa.Column("lab", sa.String(), nullable=False),
        sa.Column("made", sa.DateTime(timezone=True), nullable=False),
        sa.Column("found", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("lab", name="pk_comparisons"),
    )
    op.create_table(
        "likeness_notes",
        sa.Column("id", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in WORDS),
        sa.Column("made", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_likeness_notes"),
    )
    op.create_index("ix_likeness_notes_lab", "likeness_notes", ["lab"])
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER likeness_notes_no_{change.lower()} BEFORE {change} ON"
                " likeness_notes BEGIN SELECT RAISE(ABORT, 'likeness_notes are append-only'); END"
            )
    elif op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE TRIGGER likeness_notes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE "
            "ON likeness_notes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )
