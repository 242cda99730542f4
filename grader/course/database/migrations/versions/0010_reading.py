"""What people say when they read: comments on any work, points by hand, scores, what was read."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Comments were on hand-ins alone; the "commit" of a hand-in is its number behind this.
HAND_IN = "handin-"


def upgrade() -> None:
    """Let comments be on any work, with all that was said; make the other tables."""
    op.rename_table("comments", "hand_in_comments")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER INDEX pk_comments RENAME TO pk_hand_in_comments")
        op.execute("ALTER SEQUENCE comments_id_seq RENAME TO hand_in_comments_id_seq")
    _make(
        "comments",
        *(_text("author"), _text("text"), _moment(), _text("task"), _text("file")),
        *(sa.Column(name, sa.Integer(), nullable=True) for name in ("line", "withdraws")),
        sa.ForeignKeyConstraint(["withdraws"], ["comments.id"], name="fk_comments_withdraws"),
    )
    _keep_comments()
    op.drop_table("hand_in_comments")
    _guard("comments")
    _make(
        "corrections",
        *(_text("task"), sa.Column("points", sa.Double(), nullable=True), _text("author")),
        *(_text("reason"), _moment(), sa.Column("after_row", sa.Integer(), nullable=True)),
    )
    _make(
        "scores",
        *(_text("criterion"), sa.Column("points", sa.Double(), nullable=False), _text("author")),
        *(_text("reason"), _moment(), sa.Column("settles", sa.Boolean(), nullable=False)),
    )
    _make("seen", _text("author"), _moment())
    for table in ("corrections", "scores", "seen"):
        _guard(table)


def _keep_comments() -> None:
    # In their order, so that numbers given from now on follow those that are there.
    op.execute(
        "INSERT INTO comments (student, lab, commit_id, author, text, made, task, file) "
        f"SELECT h.student, h.lab, '{HAND_IN}' || h.id, c.author, c.text, c.made, '', '' "
        "FROM hand_in_comments c JOIN hand_ins h ON h.id = c.hand_in ORDER BY c.id"
    )


def _make(table: str, *columns: Any) -> None:
    op.create_table(
        table,
        sa.Column("id", sa.Integer(), nullable=False),
        *(_text(name) for name in ("student", "lab", "commit_id")),
        *columns,
        sa.PrimaryKeyConstraint("id", name=f"pk_{table}"),
        sa.ForeignKeyConstraint(["student"], ["students.id"], name=f"fk_{table}_student"),
    )
    op.create_index(f"ix_{table}_lab_student", table, ["lab", "student"])


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=False)


def _moment() -> sa.Column[Any]:
    return sa.Column("made", sa.DateTime(timezone=True), nullable=False)


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
