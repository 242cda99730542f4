"""What the newest comparison of a lab found, and what people decided about it.

``likeness_notes`` only grow, guarded by triggers; a comparison takes the place of the one before.
A change here needs a migration, as it does in ``tables``.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from grader.course.database.columns import Ids, Packed
from grader.course.database.tables import Table


class ComparisonRow(Table):
    """The newest comparison of the answers to a lab."""

    __tablename__ = "comparisons"

    lab: Mapped[str] = mapped_column(primary_key=True)
    made: Mapped[datetime]
    found: Mapped[Mapping[str, object]] = mapped_column(Packed)


class LikenessNoteRow(Table):
    """A person's word on answers that are alike; never changed, the newest about them holds."""

    __tablename__ = "likeness_notes"

    id: Mapped[int] = mapped_column(primary_key=True)
    lab: Mapped[str] = mapped_column(index=True)
    members: Mapped[tuple[str, ...]] = mapped_column(Ids)
    about: Mapped[str]
    state: Mapped[str]
    author: Mapped[str]
    text: Mapped[str]
    made: Mapped[datetime]
