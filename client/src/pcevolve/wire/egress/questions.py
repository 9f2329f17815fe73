"""Questions to the API before the plan: the greeting, the balance, and whether it makes several texts at once.

The questions are the same for any private data. A resumed run finds the answers on record.
"""

from __future__ import annotations

from pcevolve.errors import EgressError, ProviderRefusedError, ProviderReplyError, ProviderUnreachableError
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import BALANCE_SLOT, GREETING_SLOT, TRIAL_SLOT, Answered, Opened
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.exchange import RecordedSender
from pcevolve.wire.egress.policy import Policy
from pcevolve.wire.egress.retry import RetryPolicy
from pcevolve.wire.providers.dialect import Dialect


class OpeningQuestions:
    """Sends the questions to an API that come before the plan is on record."""

    def __init__(
        self,
        transcript: Transcript,
        dialect: Dialect,
        address: Address,
        policy: Policy,
        exchange: RecordedSender,
        patience: RetryPolicy,
    ) -> None:
        self._transcript = transcript
        self._dialect = dialect
        self._address = address
        self._policy = policy
        self._exchange = exchange
        self._patience = patience

    def hello(self, run_id: str) -> bytes:
        """Return the answer to the greeting, recorded or new (``EgressError`` if the recorded run used another API)."""
        opened = Opened(
            run_id=run_id,
            api=self._address.base_url,
            dialect=self._dialect.name,
            greets=self._address.greets,
            authority=self._address.route.authority,
            proxied=self._address.route.proxy is not None,
        )
        # The first line of a record names the API, before anything is sent to it.
        if not self._transcript.entries:
            self._transcript.append(opened)
        elif self._transcript.entries[0].record != opened:
            raise EgressError(
                "the record of this run names a different API: start a new run with another --out"
            )
        if not self._address.greets:
            return b""
        # From the record when resuming: a new request would show the provider that and when the run was
        # interrupted.
        for known in self._transcript.answers(GREETING_SLOT):
            return self._transcript.bodies.get(known.answers[0].body)
        return self._exchange.obtain(
            GREETING_SLOT, self._policy.greeting_request(), self._patience.for_first_contact()
        ).body

    def balance(self) -> float | None:
        """Return the account's balance; None if the API does not report it.

        The question is sent once, before the plan is on record; a resumed run does not repeat it.

        Raises:
            EgressError: The plan is set: a question in the middle of a run could depend on private data.
        """
        # A question in the middle of a run would show how far the run has got.
        self._policy.require_beginning()
        question = self._policy.balance_request()
        if question is None or self._transcript.plan() is not None:
            return None
        try:
            answer = self._exchange.obtain(BALANCE_SLOT, question, self._patience.for_first_contact())
            # With the short retry policy of a first contact: an absent API must not delay the run for an
            # optional question.
            return self._dialect.balance(answer.body)
        # The balance is optional.
        except (ProviderRefusedError, ProviderReplyError, ProviderUnreachableError):
            return None

    def takes_several(self, model: str) -> bool:
        """Return whether a request may ask for several texts; if nothing else shows that, request two texts at once.

        The question is sent once, before the plan is on record, because the plan depends on the answer.

        Raises:
            EgressError: The plan is set.
            ProviderError: There was no answer, or a refusal for another reason than the number of texts.
        """
        self._policy.require_beginning()
        # Image dialects have no such question, because every image server knows the field for the number.
        question = self._policy.trial_request(model)
        if question is None:
            return True
        if self._trial() is None:
            try:
                self._exchange.obtain(TRIAL_SLOT, question, self._patience.before_plan())
            # A refusal may be the answer: some APIs refuse two texts at once, and the record contains the
            # refusal.
            except ProviderRefusedError:
                if self._trial() is None:
                    raise
        # Read from the record, not from the request just made, so that a resumed run decides by the same
        # line.
        answer = self._trial()
        if answer is None or not answer.succeeded:
            return False
        return self._dialect.takes_several(self._transcript.bodies.get(answer.body))

    def _trial(self) -> Answered | None:
        """Return the last recorded answer that shows whether several texts may be requested at once."""
        records = (entry.record for entry in reversed(self._transcript.entries))
        answers = (each for each in records if isinstance(each, Answered))
        return next((each for each in answers if each.slot == TRIAL_SLOT and each.states_number), None)
