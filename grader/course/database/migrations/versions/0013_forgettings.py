"""That somebody was forgotten, and not who; what a learning platform tells, and was sent."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; what was forgotten is guarded as overrides are."""
    _platform()
    op.create_table(
        "forgettings",
        sa.Column("id", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("author", "reason")),
        sa.Column("made", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_forgettings"),
    )
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER forgettings_no_{change.lower()} BEFORE {change} ON forgettings "
                "BEGIN SELECT RAISE(ABORT, 'forgettings are append-only'); END"
            )
    elif op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE TRIGGER forgettings_append_only BEFORE UPDATE OR DELETE OR TRUNCATE "
            "ON forgettings FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )


def _platform() -> None:
    op.create_table(
        "platform_contexts",
        *(
            sa.Column(name, sa.String(), nullable=False)
            for name in ("deployment", "id", "title", "members", "items")
        ),
        sa.Column("seen", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("deployment", "id", name="pk_platform_contexts"),
    )
    op.create_table(
        "platform_marks",
        sa.Column("id", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("student", "lab", "comment")),
        *(sa.Column(name, sa.Double(), nullable=False) for name in ("points", "possible")),
        sa.Column("made", sa.DateTime(timezone=True), nullable=False),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_platform_marks"),
        sa.ForeignKeyConstraint(["student"], ["students.id"], name="fk_platform_marks_student"),
    )
    op.create_index("ix_platform_marks_lab_student", "platform_marks", ["lab", "student"])
