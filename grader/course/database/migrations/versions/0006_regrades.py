"""What is graded once more, and who published it; and which suites judged an attempt."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

STATES = "state IN ('waiting', 'running', 'graded', 'superseded', 'held')"


def upgrade() -> None:
    """Make the tables; of attempts that are there all suites had judged."""
    op.add_column("attempts", sa.Column("suite", sa.String(), nullable=False, server_default="all"))
    _only_one("uq_runs_after_deadline", "runs", ["lab"], "note = 'after-deadline'")
    op.create_table(
        "decisions",
        *(_number("id"), _number("run_id"), *map(_text, ("kind", "author", "reason"))),
        _moment("made", optional=False),
        sa.PrimaryKeyConstraint("id", name="pk_decisions"),
        sa.UniqueConstraint("run_id", "kind", name="uq_decisions_run_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_decisions_run_id"),
    )
    _only_one("uq_decisions_end", "decisions", ["run_id"], "kind <> 'asked'")
    _guard("decisions")
    op.create_table(
        "regradings",
        *(_number("id"), _number("run_id")),
        *map(_text, ("student", "commit_id", "device", "state")),
        *(_number("tries"), _text("worker")),
        *(_moment(name) for name in ("beat", "started", "ended")),
        _text("failure"),
        sa.PrimaryKeyConstraint("id", name="pk_regradings"),
        sa.UniqueConstraint("run_id", "student", "commit_id", name="uq_regradings_run_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_regradings_run_id"),
        sa.ForeignKeyConstraint(["student"], ["students.id"], name="fk_regradings_student"),
        sa.CheckConstraint(STATES, name="ck_regradings_state"),
    )
    _only_one("uq_regradings_running", "regradings", ["student"], "state = 'running'")
    op.create_index("ix_regradings_state", "regradings", ["state"])


def _text(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.String(), nullable=False)


def _number(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _moment(name: str, *, optional: bool = True) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=optional)


def _only_one(name: str, table: str, columns: list[str], condition: str) -> None:
    """Let one row that meets a condition be there for each of some columns."""
    where = sa.text(condition)
    op.create_index(name, table, columns, unique=True, sqlite_where=where, postgresql_where=where)


def _guard(table: str) -> None:
    """Let no program change what was recorded, as attempts have it since 0002."""
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
