"""What the comparison of answers found, so that the class page can show it."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of likenesses."""
    op.create_table(
        "likenesses",
        sa.Column("id", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("lab", "student", "other")),
        sa.Column("is_student", sa.Boolean(), nullable=False),
        *(sa.Column(name, sa.Double(), nullable=False) for name in ("share", "other_share")),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_likenesses"),
        sa.ForeignKeyConstraint(["student"], ["students.id"], name="fk_likenesses_student"),
    )
    op.create_index("ix_likenesses_lab", "likenesses", ["lab"])
