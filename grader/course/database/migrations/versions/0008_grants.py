"""What staff grant single students, more time or none of the cost of lateness, with who and why."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table, guarded as overrides are."""
    op.create_table(
        "grants",
        sa.Column("id", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("student", "lab", "kind")),
        sa.Column("up_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("holds", sa.Boolean(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("author", "reason")),
        sa.Column("made", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_grants"),
        sa.ForeignKeyConstraint(["student"], ["students.id"], name="fk_grants_student"),
    )
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER grants_no_{change.lower()} BEFORE {change} ON grants "
                "BEGIN SELECT RAISE(ABORT, 'grants are append-only'); END"
            )
    elif op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE TRIGGER grants_append_only BEFORE UPDATE OR DELETE OR TRUNCATE "
            "ON grants FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )
