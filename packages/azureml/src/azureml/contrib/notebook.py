from __future__ import annotations

from footplate.sdk.absent import absent

absent(__name__)
