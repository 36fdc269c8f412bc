"""What the client raises: one class for each kind of failure, all of them `MunimentError`.

`code` is the service's machine code (contract: Errors), or `network_error`, `timeout`, `invalid_response` when no
answer of the service came; then `status` is 0, or that of the answer that could not be read. It is 0, too, for what is
refused before anything is sent: grants (`invalid_grants_header`, `too_many_grants`) and `not_canonical`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .payment import Payment, PaymentDemand


@dataclass(frozen=True)
class ErrorDetail:
    """One finding: the reason, the index of the memory in the request, a JSON pointer into its data."""

    message: str
    index: int | None = None
    path: str | None = None


class MunimentError(Exception):
    """Any failure of a call."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str,
        details: Sequence[ErrorDetail] = (),
        retry_after: float | None = None,
        payment_required: PaymentDemand | None = None,
        payment: Payment | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.details = tuple(details)
        #: Seconds that the service asked for with `Retry-After`.
        self.retry_after = retry_after
        #: Of a 402: what to pay, and how.
        self.payment_required = payment_required
        #: What the request carried: the call made again `with_options(payment=error.payment)` pays nothing twice.
        self.payment = payment

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle` and `copy`, which otherwise call the class without its named arguments."""
        return _restored, (type(self), self.message), self.__dict__

    def __str__(self) -> str:
        lines = [f"{self.message} ({self.code})"]
        for at, detail in enumerate(self.details):
            # The message says the first one already.
            if at == 0 and self.message.endswith(detail.message):
                continue
            path = detail.path or ""
            # Some paths begin with the memory, the others in its data.
            place = path if detail.index is None or path.startswith("/memories/") else f"memory {detail.index}{path}"
            lines.append(f"  {place}: {detail.message}" if place else f"  {detail.message}")
        return "\n".join(lines)


def _restored(kind: type[MunimentError], message: str) -> MunimentError:
    return kind.__new__(kind, message)


class ConnectionFailedError(MunimentError):
    """The service could not be reached, or gave no answer in time."""


class InvalidRequestError(MunimentError):
    """400, and what is refused before it is sent: the request is wrong; `details` name the places."""


class AuthenticationError(MunimentError):
    """401: no credentials, or credentials that are unknown or revoked."""


class PaymentRequiredError(MunimentError):
    """402: `payment_required` says what to pay."""


class PaymentPendingError(MunimentError):
    """202: the payment is on its way, the request was not served."""


class PermissionDeniedError(MunimentError):
    """403: the credentials are good, and may not do this."""


class NotFoundError(MunimentError):
    """404: there is nothing here for these credentials."""


class ConflictError(MunimentError):
    """409, and 412 for `if_match`: the request contradicts what is stored."""


class PayloadTooLargeError(MunimentError):
    """413: the body is above the limit, or the account would hold more than its quota."""


class RateLimitedError(MunimentError):
    """429: more than the account may have now; see `retry_after`."""


class ServiceError(MunimentError):
    """Any other answer that is no success: 5xx, or an answer that is not the service's."""


BY_STATUS: dict[int, type[MunimentError]] = {
    202: PaymentPendingError,
    400: InvalidRequestError,
    401: AuthenticationError,
    402: PaymentRequiredError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    412: ConflictError,
    413: PayloadTooLargeError,
    429: RateLimitedError,
}
