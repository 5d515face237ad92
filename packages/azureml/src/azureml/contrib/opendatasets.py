from __future__ import annotations

from footplate.sdk.unsupported import absent

absent(__name__)
