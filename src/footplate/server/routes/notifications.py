from __future__ import annotations

from fastapi import Response

from footplate.domain.replies import NotificationTest
from footplate.server.openapi import Router
from footplate.server.responses import answer
from footplate.server.rights import Right
from footplate.server.routes.parsing import ServicesOf

router = Router("notifications")


@router.post("/notifications/test", Right.MANAGE_SERVER, NotificationTest)
def test_notifications(services: ServicesOf) -> Response:
    """Send a test message through every configured channel."""
    return answer(NotificationTest(services.notifications.send_test()))
