"""The metadata of all tables, and the columns and keys that they share."""

from sqlalchemy import BigInteger, Column, DateTime, ForeignKeyConstraint, Integer, MetaData, Text, Uuid, text

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    }
)

NOW = text("now()")
ZERO = text("0")


def tenant() -> Column[object]:
    return Column("tenant_id", Uuid, nullable=False)


def conversation() -> Column[object]:
    return Column("conversation_id", Text(collation="C"), nullable=False)


def of_conversation(name: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant_id", "conversation_id"],
        ["conversations.tenant_id", "conversations.id"],
        name=f"{name}_conversation_fkey",
        ondelete="CASCADE",
    )


def counter(name: str, *, big: bool = False) -> Column[object]:
    return Column(name, BigInteger if big else Integer, nullable=False, server_default=ZERO)


def created() -> Column[object]:
    return Column("created_at", DateTime(timezone=True), nullable=False, server_default=NOW)
