"""Up to when a collection asked, and whom a run was of: neither can be told from other rows."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add both; of what is there already they are not known."""
    op.add_column("frozen", sa.Column("up_to", sa.DateTime(timezone=True), nullable=True))
    op.add_column("runs", sa.Column("students", sa.String(), nullable=False, server_default=""))
