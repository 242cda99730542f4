"""Students, what they handed in, how it was graded, what a person said of it."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def moment(name: str, *, optional: bool = False) -> sa.Column[object]:
    """A column for a moment in UTC."""
    return sa.Column(name, sa.DateTime(timezone=True), nullable=optional)


def text(name: str) -> sa.Column[object]:
    """A column for text that is never missing."""
    return sa.Column(name, sa.String(), nullable=False)


def number(name: str, *, optional: bool = False) -> sa.Column[object]:
    """A column for points or seconds."""
    return sa.Column(name, sa.Double(), nullable=optional)


def student(table: str) -> tuple[sa.Column[object], sa.ForeignKeyConstraint]:
    """A column for the id of a student who was on the roster."""
    name = f"fk_{table}_student"
    return text("student"), sa.ForeignKeyConstraint(["student"], ["students.id"], name=name)


def identity(table: str) -> tuple[sa.Column[object], sa.PrimaryKeyConstraint]:
    """A number that the database gives."""
    key = sa.PrimaryKeyConstraint("id", name=f"pk_{table}")
    return sa.Column("id", sa.Integer(), nullable=False), key


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "students",
        *(text(name) for name in ("id", "name", "repository", "branch")),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_students"),
    )
    op.create_table(
        "frozen",
        *identity("frozen"),
        *student("frozen"),
        *(text(name) for name in ("lab", "commit_id", "path", "problem")),
        moment("committed", optional=True),
        moment("collected"),
    )
    op.create_index("ix_frozen_lab_student", "frozen", ["lab", "student"])
    op.create_table("runs", *identity("runs"), text("lab"), moment("started"), text("note"))
    op.create_index("ix_runs_lab", "runs", ["lab"])
    _attempts()
    op.create_table(
        "overrides",
        *identity("overrides"),
        *student("overrides"),
        *(text(name) for name in ("lab", "author", "reason")),
        number("points", optional=True),
        moment("made"),
    )
    op.create_index("ix_overrides_lab", "overrides", ["lab"])


def _attempts() -> None:
    op.create_table(
        "attempts",
        *identity("attempts"),
        *student("attempts"),
        text("lab"),
        sa.Column("run_id", sa.Integer(), nullable=False),
        text("commit_id"),
        moment("submitted", optional=True),
        moment("graded"),
        *(number(name) for name in ("seconds", "points", "possible")),
        sa.Column("exit_code", sa.Integer(), nullable=False),
        sa.Column("infra", sa.Boolean(), nullable=False),
        sa.Column("report", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_attempts_run_id"),
        sa.UniqueConstraint(
            "run_id", "student", "lab", "commit_id", "infra", name="uq_attempts_run_id"
        ),
    )
    op.create_index("ix_attempts_lab_student", "attempts", ["lab", "student"])
