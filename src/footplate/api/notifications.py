"""Messages to people when runs end."""

from __future__ import annotations

from footplate.api.base import ApiNoun
from footplate.domain.replies import NotificationTest


class NotificationsApi(ApiNoun):
    def test(self) -> NotificationTest:
        """Send a test message through every configured channel."""
        return self._post(NotificationTest, "/notifications/test")
