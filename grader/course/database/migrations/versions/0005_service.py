"""What the grading service keeps: hand-ins and their queue, events, who may come in, comments."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

STATES = "state IN ('waiting', 'running', 'graded', 'superseded', 'held')"
ORIGINS = "origin IN ('terminal', 'web', 'notebook', 'git')"
ROLES = "role IN ('student', 'assistant', 'instructor')"


def moment(name: str, *, optional: bool = False) -> sa.Column[object]:
    """A column for a moment in UTC."""
    return sa.Column(name, sa.DateTime(timezone=True), nullable=optional)


def text(name: str) -> sa.Column[object]:
    """A column for text that is never missing."""
    return sa.Column(name, sa.String(), nullable=False)


def number(name: str) -> sa.Column[object]:
    """A column for a whole number."""
    return sa.Column(name, sa.Integer(), nullable=False)


def points_to(table: str, column: str, other: str) -> sa.ForeignKeyConstraint:
    """A reference to another table's id."""
    return sa.ForeignKeyConstraint([column], [f"{other}.id"], name=f"fk_{table}_{column}")


def key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    """The primary key."""
    return sa.PrimaryKeyConstraint(*columns, name=f"pk_{table}")


def only_one(name: str, table: str, columns: list[str], condition: str) -> None:
    """Let one row that meets a condition be there for each of some columns."""
    where = sa.text(condition)
    op.create_index(name, table, columns, unique=True, sqlite_where=where, postgresql_where=where)


def upgrade() -> None:
    """Make the tables, and let the service have one run of each lab."""
    only_one("uq_runs_service", "runs", ["lab"], "note = 'service'")
    _hand_ins()
    op.create_table(
        "events",
        *(number("id"), number("hand_in"), text("kind")),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        moment("made"),
        *(key("events", "id"), points_to("events", "hand_in", "hand_ins")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_hand_in", "events", ["hand_in", "id"])
    _doors()
    op.create_table(
        "comments",
        *(number("id"), number("hand_in"), text("author"), text("text"), moment("made")),
        *(key("comments", "id"), points_to("comments", "hand_in", "hand_ins")),
    )
    op.create_index("ix_comments_hand_in", "comments", ["hand_in"])
    _guard("comments")
    op.create_table(
        "aliases",
        *(text(name) for name in ("student", "lab", "name")),
        *(key("aliases", "student", "lab"), points_to("aliases", "student", "students")),
        sa.UniqueConstraint("lab", "name", name="uq_aliases_lab"),
    )


def _hand_ins() -> None:
    op.create_table(
        "hand_ins",
        number("id"),
        *(text(name) for name in ("student", "lab", "sha256")),
        moment("received"),
        *(text(name) for name in ("origin", "device", "note", "commit_id", "path", "state")),
        number("tries"),
        text("worker"),
        *(moment(name, optional=True) for name in ("beat", "started", "ended")),
        text("failure"),
        *(key("hand_ins", "id"), points_to("hand_ins", "student", "students")),
        sa.CheckConstraint(STATES, name="ck_hand_ins_state"),
        sa.CheckConstraint(ORIGINS, name="ck_hand_ins_origin"),
    )
    only_one("uq_hand_ins_running", "hand_ins", ["student"], "state = 'running'")
    only_one("uq_hand_ins_waiting", "hand_ins", ["student", "lab"], "state = 'waiting'")
    op.create_index("ix_hand_ins_lab_student", "hand_ins", ["lab", "student"])
    op.create_index("ix_hand_ins_student_started", "hand_ins", ["student", "started"])
    op.create_index("ix_hand_ins_started", "hand_ins", ["started"])


def _doors() -> None:
    op.create_table(
        "tokens",
        *(number("id"), text("hash"), text("owner"), text("role")),
        *(moment("made"), moment("revoked", optional=True), key("tokens", "id")),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
        sa.CheckConstraint(ROLES, name="ck_tokens_role"),
    )
    op.create_table(
        "sessions",
        *(text("hash"), number("token_id"), text("csrf"), moment("made"), moment("ends")),
        *(key("sessions", "hash"), points_to("sessions", "token_id", "tokens")),
    )
    op.create_table("deliveries", text("id"), moment("received"), key("deliveries", "id"))


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
