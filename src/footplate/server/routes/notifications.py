from __future__ import annotations

from fastapi import APIRouter, Response

from footplate.domain.replies import NotificationTest
from footplate.server.openapi import Route
from footplate.server.responses import answer
from footplate.server.rights import Right, requires
from footplate.server.routes.parsing import ServicesOf

router = APIRouter(tags=["notifications"], route_class=Route)


@router.post("/notifications/test", response_model=NotificationTest)
@requires(Right.MANAGE_SERVER)
def test_notifications(services: ServicesOf) -> Response:
    """Send a test message through every configured channel."""
    return answer(NotificationTest(services.notifications.send_test()))
