"""Connections whose requests do not begin: uvicorn waits for headers without end, this does not."""

import asyncio

from grader.extras import needs

with needs("service"):
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 15.0  # within which a request's headers are there, however they come


class PatientProtocol(H11Protocol):
    """Ends a connection on which no request begins in time, whatever drips in meanwhile."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on while headers are not whole; a byte more does not make it wait longer."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait()
        elif self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._deadline = None
        # What came whole meanwhile, with nothing after it, is answered and has its own end.
        if self.conn.their_state is h11.IDLE:
            self.timeout_keep_alive_handler()
