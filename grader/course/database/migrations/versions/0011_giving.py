"""What goes back to students: requests with their answers, holds, reports given, addresses.

A regrading may have the seed of an earlier grading.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

GROWING = ("requests", "answers", "holds", "given_back")


def upgrade() -> None:
    """Make the tables, those that only grow guarded as overrides are."""
    op.create_table(
        "requests",
        *_key("requests"),
        *_texts("student", "lab", "commit_id", "task", "test", "reason", "author"),
        sa.Column("points", sa.Double(), nullable=False),
        sa.Column("task_points", sa.Double(), nullable=False),
        sa.Column("made", sa.DateTime(timezone=True), nullable=False),
        _of_student("requests"),
    )
    op.create_index("ix_requests_student_lab", "requests", ["student", "lab"])
    op.create_table(
        "answers",
        *_key("answers"),
        sa.Column("request_id", sa.Integer(), nullable=False),
        *_texts("kind", "author", "text"),
        sa.Column("made", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("mark_before", sa.Double(), nullable=True),
        sa.Column("mark_after", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name="fk_answers_request_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_answers_run_id"),
        sa.UniqueConstraint("request_id", name="uq_answers_request_id"),
        sa.CheckConstraint("kind IN ('answered', 'withdrawn')", name="ck_answers_kind"),
    )
    op.create_table(
        "holds",
        *_key("holds"),
        *_texts("student", "lab", "author", "reason"),
        sa.Column("holds", sa.Boolean(), nullable=False),
        sa.Column("made", sa.DateTime(timezone=True), nullable=False),
        _of_student("holds"),
    )
    op.create_index("ix_holds_student", "holds", ["student"])
    op.create_table(
        "given_back",
        *_key("given_back"),
        *_texts("student", "lab", "way", "step", "digest", "place", "told"),
        sa.Column("made", sa.DateTime(timezone=True), nullable=False),
        _of_student("given_back"),
        sa.CheckConstraint("way IN ('branch', 'mail')", name="ck_given_back_way"),
        sa.CheckConstraint("step IN ('begun', 'sent', 'failed')", name="ck_given_back_step"),
    )
    op.create_index("ix_given_back_lab_way", "given_back", ["lab", "way"])
    op.create_table(
        "addresses",
        *_key("addresses"),
        *_texts("hash", "student", "lab", "author"),
        sa.Column("made", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked", sa.DateTime(timezone=True), nullable=True),
        _of_student("addresses"),
        sa.UniqueConstraint("hash", name="uq_addresses_hash"),
    )
    op.add_column("regradings", sa.Column("seed", sa.BigInteger(), nullable=True))
    for table in GROWING:
        _guard(table)


def _key(table: str) -> tuple[sa.Column[int], sa.PrimaryKeyConstraint]:
    id = sa.Column("id", sa.Integer(), nullable=False)
    return id, sa.PrimaryKeyConstraint("id", name=f"pk_{table}")


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.String(), nullable=False) for name in names]


def _of_student(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["student"], ["students.id"], name=f"fk_{table}_student")


def _guard(table: str) -> None:
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} are append-only'); END"
            )
    elif op.get_bind().dialect.name == "postgresql":
        op.execute(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE "
            f"ON {table} FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )
