"""Base class of records that people write, checked by pydantic."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base class of records that people write: keeps unknown keys, accepts Python names and file keys."""

    model_config = ConfigDict(extra="allow", populate_by_name=True, ser_json_inf_nan="constants")
