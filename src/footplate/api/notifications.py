"""Messages to people when runs end."""

from __future__ import annotations

from footplate.api.base import ApiNoun
from footplate.domain.codec import from_json
from footplate.domain.replies import NotificationTest


class NotificationsApi(ApiNoun):
    def test(self) -> NotificationTest:
        """Send a test message through every configured channel."""
        return from_json(NotificationTest, self._post("/notifications/test"))
