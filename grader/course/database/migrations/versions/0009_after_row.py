"""After which attempt an override was said: clocks of machines that grade prove nothing."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of overrides before it nobody kept that."""
    op.add_column("overrides", sa.Column("after_row", sa.Integer(), nullable=True))
